import { html, render } from 'htm/preact';
import type { ReportData, RunData } from '../model/report-data.ts';
import { Dashboard, RunReport } from './dashboard.ts';
import { ReportView } from './report-view.ts';
import { paper } from './text.ts';

const place = document.getElementById('page');
const data = JSON.parse(document.getElementById('data')?.textContent ?? 'null') as ReportData | RunData | null;
if (place !== null) {
  place.textContent = '';
  const report = (shown: ReportData | RunData) =>
    'keys' in shown ? html`<${RunReport} data=${shown} />` : html`<main><${ReportView} data=${shown} /></main>`;
  const draw = (isPrinting: boolean): void => {
    paper.isPrinting = isPrinting;
    render(data === null ? html`<${Dashboard} />` : report(data), place);
  };
  draw(false);
  addEventListener('beforeprint', () => draw(true));
  addEventListener('afterprint', () => draw(false));
}
