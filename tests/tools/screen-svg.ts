import { eastAsianWidth } from 'get-east-asian-width';

const CELL = 8.4;
const LINE = 19;
const MARGIN = 16;
const COLOURS = ['#3b4252', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d8dee9'];

interface Style {
  readonly colour: string | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

const PLAIN: Style = { colour: null, bold: false, dim: false };

/** A terminal's screen with SGR sequences as an SVG picture, every cell at its column. */
export function screenSvg(screen: string, columns: number): string {
  const lines = screen.replace(/\s+$/, '').split('\n');
  const width = Math.ceil(columns * CELL + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  let style = PLAIN;
  const rows = lines.map((line, row) => {
    const y = MARGIN + (row + 0.75) * LINE;
    let column = 0;
    const spans: string[] = [];
    for (const part of line.split(/(\x1b\[[\d;]*m)/)) {
      if (part.startsWith('\x1b')) {
        style = styleAfter(style, part.slice(2, -1));
        continue;
      }
      if (part.trim() !== '') spans.push(span(part, column, style));
      column += [...part].reduce((sum, char) => sum + eastAsianWidth(char.codePointAt(0) ?? 0), 0);
    }
    return spans.length === 0 ? '' : `<text y="${y}">${spans.join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run of ralph-loop in a terminal">`,
    `<rect width="100%" height="100%" rx="8" fill="#1e222a"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d8dee9">`,
    ...rows.filter((row) => row !== ''),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function span(part: string, column: number, { colour, bold, dim }: Style): string {
  const blanks = part.length - part.trimStart().length;
  const shown = part.trim();
  // A browser shows several spaces as one.
  const text = shown.replaceAll(' ', '\u00a0').replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
  const x = (MARGIN + (column + blanks) * CELL).toFixed(1);
  const look = `${colour === null ? '' : ` fill="${colour}"`}${bold ? ' font-weight="bold"' : ''}${dim ? ' opacity="0.6"' : ''}`;
  return `<tspan x="${x}" textLength="${([...shown].length * CELL).toFixed(1)}"${look}>${text}</tspan>`;
}

function styleAfter(before: Style, codes: string): Style {
  let style = before;
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) style = PLAIN;
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code >= 30 && code <= 37) style = { ...style, colour: COLOURS[code - 30] ?? null };
    else if (code >= 90 && code <= 97) style = { ...style, colour: COLOURS[code - 90] ?? null };
    else if (code === 39) style = { ...style, colour: null };
  }
  return style;
}
