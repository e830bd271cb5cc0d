const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * `value` as a bar beside the greatest one, in at most so many cells, an eighth of a cell exact. Nothing is no bar, and
 * whatever is more than nothing can be seen.
 */
export function bar(value: number, greatest: number, cells: number): string {
  if (!(value > 0) || !(greatest > 0)) return '';
  const eighths = Math.max(1, Math.round((Math.min(value, greatest) / greatest) * cells * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
