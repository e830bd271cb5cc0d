const ANSI = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Marks that turn the direction of what follows, and so can show another text than there is. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** Returns an agent's text as it may be shown: without terminal sequences, with hidden marks made visible. */
export function clean(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(ANSI, '')
    .replace(CONTROL, '\u{FFFD}')
    .replace(BIDI, (mark) => `<U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`);
}

/** Names, commands and paths stay in one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}

export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return '?';
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${milliseconds < 10_000 ? (milliseconds / 1_000).toFixed(1) : seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 72 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

export function dollars(amount: number | null): string {
  return amount === null ? '$?' : `$${amount.toFixed(amount < 1 && amount > 0 ? 3 : 2)}`;
}

export function compact(count: number | null): string {
  if (count === null) return '?';
  return new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(count);
}

const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };

export function clock(instant: string): string {
  const at = new Date(instant);
  return Number.isNaN(at.getTime()) ? '?' : at.toLocaleTimeString(undefined, CLOCK);
}

export function moment(instant: string | null): string {
  const at = new Date(instant ?? '');
  return Number.isNaN(at.getTime()) ? '?' : at.toLocaleString(undefined, { ...CLOCK, day: 'numeric', month: 'short' });
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
