import { createHash } from 'node:crypto';
import page from '../../../.build/page.json' with { type: 'json' };
import { statusSentence } from '../../text/status-words.ts';
import type { ReportData, RunData } from '../model/report-data.ts';

const { script, style } = page;

/** Mark of a report, which another report may replace. */
export const REPORT_MARK = '<meta name="generator" content="ralph-loop report">';

/** Returns the policy of the page, for a header or its head: it runs its own script and style and talks only to `connect`. */
export function contentPolicy(connect: "'self'" | "'none'"): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    `connect-src ${connect}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Returns the page that requests its data from a server. `start`: the command that starts a loop. */
export function livePage(start: string): string {
  return document('ralph-loop', `<meta name="start" content="${escaped(start)}">`, 'null');
}

/** Returns one file with the page and its data, which makes no requests. */
export function reportPage(data: ReportData | RunData): string {
  const meta = `<meta http-equiv="Content-Security-Policy" content="${contentPolicy("'none'")}">\n${REPORT_MARK}`;
  // The data cannot end the element that contains it.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  return document(titleOf(data), meta, json);
}

function titleOf(data: ReportData | RunData): string {
  if ('keys' in data) return `${data.run.title}: ${data.run.done} of ${data.run.total} tasks done`;
  return `${data.row.title}: ${statusSentence(data.row.status, data.row.verified)}`;
}

function document(title: string, meta: string, data: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${meta}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"><p>This page needs JavaScript.</p></div>
<script type="application/json" id="data">${data}</script>
<script>${script}</script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
