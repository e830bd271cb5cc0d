import { useEffect, useRef, useState } from 'preact/hooks';
import type { Iteration, LoopRow, ReportData, RunData, Work } from '../model/report-data.ts';

/** Access to the server. `act` is null if the server is read-only. */
export interface Access {
  readonly read: string;
  readonly act: string | null;
}

/** Removes the tokens from the address. They are kept in memory and, for a reload, in the tab. */
export function takeAccess(): Access | null {
  const given = /^#t=([\w-]+)(?:&c=([\w-]+))?$/.exec(location.hash);
  if (given === null) return JSON.parse(sessionStorage.getItem('access') ?? 'null') as Access | null;
  const access = { read: given[1] ?? '', act: given[2] ?? null };
  sessionStorage.setItem('access', JSON.stringify(access));
  history.replaceState(null, '', location.pathname);
  return access;
}

export type Link = 'connecting' | 'open' | 'lost' | 'refused';

/** Follows the list of loops; `changed` has a counter for each loop that rises with its news. */
export function useLoops(access: Access | null): {
  rows: readonly LoopRow[] | null;
  /** Total number of loops: `rows` may contain only the newest. */
  total: number;
  link: Link;
  changed: Record<string, number>;
} {
  const [rows, setRows] = useState<readonly LoopRow[] | null>(null);
  const [total, setTotal] = useState(0);
  const [changed, setChanged] = useState<Record<string, number>>({});
  const [link, setLink] = useState<Link>('connecting');
  useEffect(() => {
    if (access === null) return setLink('refused');
    const ended = new AbortController();
    const follow = async (): Promise<void> => {
      for (let failures = 0; !ended.signal.aborted; failures += 1) {
        try {
          const answer = await fetch('/events', { headers: bearer(access.read), signal: ended.signal });
          if (answer.status === 401) return setLink('refused');
          if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
          failures = 0;
          for await (const { event, data } of messages(answer.body)) {
            setLink(event === 'away' ? 'lost' : 'open');
            if (event === 'loops') setRows(JSON.parse(data) as LoopRow[]);
            if (event === 'total') setTotal(Number(data));
            if (event === 'changed') setChanged(JSON.parse(data) as Record<string, number>);
          }
        } catch {
          // The server is unreachable or busy; it is asked again below.
        }
        if (ended.signal.aborted) return;
        setLink('lost');
        await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 500 * 2 ** failures)));
      }
    };
    void follow();
    return () => ended.abort();
  }, [access]);
  return { rows, total, link, changed };
}

async function* messages(body: ReadableStream<BufferSource>): AsyncGenerator<{ event: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? '';
      yield { event: field('event'), data: field('data') };
    }
  }
}

/** Report, or the reason why there is none; null until it has been read. */
export type Shown = ReportData | RunData | 'missing' | 'failed' | null;

/** Keeps the report of a loop up to date: complete at first, then the iterations that may have changed. */
export function useReport(access: Access | null, key: string | null, version: number): Shown {
  const [data, setData] = useState<Shown>(null);
  const wanted = useRef<string | null>(null);
  const known = useRef<ReportData | null>(null);
  useEffect(() => {
    if (access === null || key === null) return;
    if (wanted.current !== key) {
      wanted.current = key;
      known.current = null;
      setData(null);
    }
    const ended = new AbortController();
    const read = async (): Promise<void> => {
      const before = known.current;
      // The last two iterations may still change.
      const iterations = Math.max(0, (before?.iterations.length ?? 0) - 2);
      const decisions = before?.decisions.length ?? 0;
      const loop = encodeURIComponent(before?.row.loopId ?? '');
      const answer = await fetch(`/loops/${key}?iterations=${iterations}&decisions=${decisions}&loop=${loop}`, {
        headers: bearer(access.read),
        signal: ended.signal,
      });
      if (answer.status === 404) return setData('missing');
      if (!answer.ok) return before === null ? setData('failed') : undefined;
      const news = (await answer.json()) as ReportData | RunData;
      if ('keys' in news) return setData(news);
      const { skipped } = news;
      known.current = {
        ...news,
        iterations: [...(before?.iterations.slice(0, skipped.iterations) ?? []), ...news.iterations],
        decisions: [...(before?.decisions.slice(0, skipped.decisions) ?? []), ...news.decisions],
      };
      setData(known.current);
    };
    // A failed read is repeated with the next news.
    read().catch(() => undefined);
    return () => ended.abort();
  }, [access, key, version]);
  return data;
}

/** Time without news of an iteration before its work is read. */
const SETTLED_MS = 1_000;

/** Reads the changes of a served iteration, or of the whole loop for index 0: when it is selected, and after further calls in it; null until then. */
export function useWork(
  access: Access | null,
  { key, loopId }: LoopRow,
  iteration?: Pick<Iteration, 'index' | 'endedAt' | 'toolCalls'>,
): Work | 'failed' | null {
  const [read, setRead] = useState<{ readonly of: string; readonly work: Work | 'failed' } | null>(null);
  const of = `${key} ${loopId} ${iteration?.index}`;
  useEffect(() => {
    if (access === null || iteration === undefined) return;
    const ended = new AbortController();
    const path = `/loops/${key}/iterations/${iteration.index}?loop=${encodeURIComponent(loopId ?? '')}`;
    const ask = async (): Promise<void> => {
      const answer = await fetch(path, { headers: bearer(access.read), signal: ended.signal });
      setRead({ of, work: answer.ok ? ((await answer.json()) as Work) : 'failed' });
    };
    const failed = (): void => (ended.signal.aborted ? undefined : setRead({ of, work: 'failed' }));
    const timer = setTimeout(() => void ask().catch(failed), read?.of === of ? SETTLED_MS : 0);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [access, of, iteration?.endedAt, iteration?.toolCalls]);
  return read?.of === of ? read.work : null;
}

/** Sends a command; returns the server's answer. */
export async function act(access: Access, key: string, command: object): Promise<string> {
  const headers = { ...bearer(access.read), 'content-type': 'application/json', 'x-control': access.act ?? '' };
  try {
    const answer = await fetch(`/loops/${key}/control`, { method: 'POST', headers, body: JSON.stringify(command) });
    const { message } = (await answer.json()) as { message?: string };
    return message ?? (answer.ok ? 'Done.' : `Refused (${answer.status}).`);
  } catch {
    return 'The server cannot be reached.';
  }
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
