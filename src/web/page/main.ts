import { html, render } from 'htm/preact';
import type { BatchData, ReportData } from '../model/report-data.ts';
import { Batch, Dashboard } from './dashboard.ts';
import { paper } from './fold.ts';
import { ReportView } from './report-view.ts';

const place = document.getElementById('page');
const data = JSON.parse(document.getElementById('data')?.textContent ?? 'null') as ReportData | BatchData | null;
if (place !== null) {
  place.textContent = '';
  const report = (shown: ReportData | BatchData) =>
    'title' in shown ? html`<${Batch} data=${shown} />` : html`<main><${ReportView} data=${shown} /></main>`;
  const draw = (isPrinting: boolean): void => {
    paper.isPrinting = isPrinting;
    render(data === null ? html`<${Dashboard} />` : report(data), place);
  };
  draw(false);
  addEventListener('beforeprint', () => draw(true));
  addEventListener('afterprint', () => draw(false));
}
