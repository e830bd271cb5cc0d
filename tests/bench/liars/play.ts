import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findClientBinary } from '../../support/client/client-binary.ts';
import type { EnvironmentChanges } from '../../support/client/client-environment.ts';
import { inLoopProject, type LoopProject } from '../../support/client/loop-project.ts';
import { killTree, signalQuietly, stopTree } from '../../support/client/process-tree.ts';
import { CODEX, inCodexProject } from '../../support/codex/codex-project.ts';
import * as responses from '../../support/codex/responses-model.ts';
import { GEMINI, type GeminiReply, inGeminiProject, say, shell } from '../../support/gemini/gemini-project.ts';
import { commitFolder } from '../../support/git.ts';
import { bash, hang, type ModelRequest, type Reply, rateLimited, text } from '../../support/model/scripted-model.ts';
import { type Act, type Agent, actsOf } from './agents.ts';
import { FILES, isTrulyDone } from './project.ts';
import type { Seen } from './score.ts';

/** What a contestant runs in the project, and how its word that the work is done is read. */
export interface Contestant {
  readonly key: string;
  readonly name: string;
  readonly host: 'claude' | 'codex' | 'gemini';
  readonly version: string;
  /** What its documentation recommends for "the tests must pass", in a few words for the table. */
  readonly settings: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The words by which its agent says that it is done, or null where it has none. */
  readonly promise: string | null;
  readonly command: (project: LoopProject) => readonly string[];
  /** After a kill; default the same command. */
  readonly again?: (project: LoopProject) => readonly string[];
  readonly env?: (project: LoopProject) => EnvironmentChanges;
  /** Whether it said that the work is done; default: its exit code is 0. */
  readonly said?: (end: End) => boolean;
}

export interface End {
  readonly code: number | null;
  readonly output: string;
  readonly project: string;
  /** The last answer of the model that judges a goal. */
  readonly judged: boolean;
}

/** Milliseconds after which a run that has not ended is ended. */
export const LIMIT_MS = 310_000;
const CLAIM = 'All of it is done.';

export async function play(contestant: Contestant, agent: Agent): Promise<Seen & { readonly output: string }> {
  const stage = new Stage(contestant, agent);
  const options = { init: false, git: true, files: { ...FILES, ...contestant.files } };
  const body = (project: LoopProject): Promise<void> => stage.perform(project);
  if (contestant.host === 'codex') {
    await inCodexProject(
      options,
      (request) => stage.codex(request),
      async (project) => body(project as unknown as LoopProject),
    );
  } else if (contestant.host === 'gemini') {
    await inGeminiProject(options, (bytes) => stage.gemini(bytes), body);
  } else {
    const script = {
      main: (request: ModelRequest) => stage.claude(request),
      auxiliary: (request: ModelRequest) => stage.judge(request),
    };
    await inLoopProject(options, script, body);
  }
  return stage.seen();
}

class Stage {
  readonly contestant: Contestant;
  readonly #next: () => Act;
  #process: ChildProcess | null = null;
  #restart = false;
  #killing: Promise<void> | null = null;
  #pids = '';
  #calls = 0;
  #turns = 0;
  #bytes = 0;
  #judged = false;
  #result: (Seen & { readonly output: string }) | null = null;

  constructor(contestant: Contestant, agent: Agent) {
    this.contestant = contestant;
    this.#next = actsOf(agent);
  }

  seen(): Seen & { readonly output: string } {
    if (this.#result === null) throw new Error('nothing was played');
    return this.#result;
  }

  async perform(project: LoopProject): Promise<void> {
    const { workspace } = project;
    rmSync(workspace.path('.claude'), { recursive: true, force: true });
    commitFolder(workspace.project);
    this.#pids = join(workspace.root, 'pids');
    const { host } = this.contestant;
    const program = join(workspace.binDir, host);
    const npm = { codex: CODEX, gemini: GEMINI };
    const real = host === 'claude' ? `"${findClientBinary()}"` : `"${process.execPath}" "${npm[host]}"`;
    if (host === 'gemini') {
      workspace.write('../home/.gemini/settings.json', '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n');
      project.main(['init', '--gemini', '--yes']);
    }
    rmSync(program, { force: true });
    writeFileSync(program, `#!/bin/sh\necho $$ >> "${this.#pids}"\nexec ${real} "$@"\n`, { mode: 0o755 });
    let end = await this.#run(project, this.contestant.command(project));
    if (this.#restart) end = await this.#run(project, (this.contestant.again ?? this.contestant.command)(project));
    const { code, output } = end;
    const seen: End = { code, output, project: workspace.project, judged: this.#judged };
    this.#result = {
      ...{ code, output, calls: this.#calls, turns: Math.max(1, this.#turns), bytes: this.#bytes },
      said: (this.contestant.said ?? ((one) => one.code === 0))(seen),
      done: isTrulyDone(workspace.project),
    };
  }

  async #run(project: LoopProject, words: readonly string[]): Promise<{ code: number | null; output: string }> {
    const changes = {
      RALPH_CODEX: join(project.workspace.binDir, 'codex'),
      RALPH_GEMINI: join(project.workspace.binDir, 'gemini'),
      ...this.contestant.env?.(project),
    };
    const child = spawn(words[0] ?? '', words.slice(1), {
      cwd: project.workspace.project,
      env: project.environment(changes),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#process = child;
    let output = '';
    let isCutOff = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => (output += part));
    const timer = setTimeout(() => {
      isCutOff = true;
      killTree(child.pid ?? 0);
    }, LIMIT_MS);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (exit, signal) => resolve(isCutOff ? null : (exit ?? (signal === null ? 1 : 137))));
    });
    clearTimeout(timer);
    // What a killed program leaves behind may hold these open.
    await new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      setTimeout(resolve, 500);
    });
    await this.#killing;
    return { code, output };
  }

  claude(request: ModelRequest): Reply {
    const act = this.#count(Number(request.headers['content-length'] ?? 0));
    switch (act.do) {
      case 'run':
        return bash(act.command);
      case 'say':
        return text(this.#words(act));
      case 'limit':
        return rateLimited(Math.ceil(Date.now() / 1000) + 2);
      case 'hang':
      case 'crash':
      case 'kill':
        return hang();
      default:
        return act satisfies never;
    }
  }

  codex(request: responses.ResponsesRequest): responses.ResponsesReply {
    const act = this.#count(request.bytes);
    switch (act.do) {
      case 'run':
        return responses.shell(act.command);
      case 'say':
        return responses.say(this.#words(act));
      case 'limit':
        return {
          kind: 'failed',
          code: 'rate_limit_exceeded',
          message: 'Rate limit reached. Please try again in 1.5s.',
        };
      case 'hang':
      case 'crash':
      case 'kill':
        return { kind: 'hang' };
      default:
        return act satisfies never;
    }
  }

  gemini(bytes: number): GeminiReply {
    const act = this.#count(bytes);
    switch (act.do) {
      case 'run':
        return shell(act.command);
      case 'say':
        return say(this.#words(act));
      case 'limit':
        return 'rate-limit';
      case 'hang':
      case 'crash':
      case 'kill':
        return 'hang';
      default:
        return act satisfies never;
    }
  }

  /** Judges a goal as its prompt asks, by what the conversation shows: true if the last test run in it passed. */
  judge(request: ModelRequest): Reply {
    const shown = JSON.stringify(request.body.messages);
    if (!JSON.stringify(request.body.system ?? '').includes('stop-condition')) return text('{}');
    const runs = [...shown.matchAll(/(?:#|ℹ) pass (\d+).*?(?:#|ℹ) fail (\d+)/g)];
    const last = runs.at(-1);
    this.#judged = last !== undefined && last[1] !== '0' && last[2] === '0';
    const turns = /stop after (\d+) turns/.exec(shown)?.[1] ?? '0';
    const isOver = this.#turns >= Number(turns);
    const reason =
      isOver && !this.#judged
        ? `stopped after ${turns} turns`
        : last === undefined
          ? 'insufficient evidence in transcript'
          : `pass ${last[1]}, fail ${last[2]}`;
    return text(JSON.stringify({ ok: this.#judged || isOver, reason }));
  }

  #count(bytes: number): Act {
    const act = this.#next();
    this.#calls += 1;
    this.#bytes += bytes;
    if (act.do !== 'run') this.#turns += 1;
    if (act.do === 'crash') setTimeout(() => this.#crash(), 200);
    if (act.do === 'kill') this.#kill();
    return act;
  }

  #words({ text: said, claims }: Extract<Act, { do: 'say' }>): string {
    const { promise } = this.contestant;
    if (said === 'QUOTE')
      return `The task asks me to print ${promise ?? CLAIM} once the tests pass; they do not pass yet.`;
    return claims === true && promise !== null ? `${said}\n\n${promise}` : said;
  }

  #crash(): void {
    const pid = existsSync(this.#pids) ? Number(readFileSync(this.#pids, 'utf8').trim().split('\n').at(-1)) : 0;
    // The client of npm's Codex is a child of its wrapper.
    for (const each of pid > 0 ? stopTree(pid) : []) signalQuietly(each, 'SIGKILL');
  }

  #kill(): void {
    this.#restart = true;
    this.#killing = new Promise((resolve) => setTimeout(resolve, 500));
    setTimeout(() => killTree(this.#process?.pid ?? 0), 200);
  }
}
