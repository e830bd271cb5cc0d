import { html, render } from 'htm/preact';
import type { ReportData } from '../model/report-data.ts';
import { Dashboard } from './dashboard.ts';
import { ReportView } from './report-view.ts';

const place = document.getElementById('page');
const data = JSON.parse(document.getElementById('data')?.textContent ?? 'null') as ReportData | null;
if (place !== null) {
  place.textContent = '';
  render(data === null ? html`<${Dashboard} />` : html`<main><${ReportView} data=${data} /></main>`, place);
}
