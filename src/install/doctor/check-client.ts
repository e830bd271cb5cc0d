import { spawnSync } from 'node:child_process';
import { OLDEST_CLIENT, tooOld, UPDATE_CLIENT } from '../../claude/find-client.ts';
import { atLeast } from '../../text/version.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const BLOCKS_ON_FAILURE = '2.1.295';
const TESTED = '2.1.330';

/** The client itself: found, and new enough. */
export function checkClient({ client }: Examined): Finding[] {
  const check = 'client';
  if (client === null) {
    const message = 'claude was not found on PATH.';
    const mend = 'install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.';
    return [{ check, level: 'error', message, mend }];
  }
  const { path, version } = client;
  const update = 'update it: claude update.';
  const warning = (message: string, mend = update): Finding[] => [{ check, level: 'warning', message, mend }];
  if (version === null) return warning(`${path} does not say its version.`, 'see whether it starts: claude --version.');
  if (!atLeast(version, OLDEST_CLIENT)) {
    return [{ check, level: 'error', message: tooOld(path, version), mend: UPDATE_CLIENT }];
  }
  if (!atLeast(version, BLOCKS_ON_FAILURE)) {
    return warning(
      `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`,
    );
  }
  return [fine(check, `claude ${version} (tested with ${TESTED}).`)];
}

const OLDEST_NODE = '20.12.0';
const TIME_LIMIT_MS = 10_000;

/** node as the hooks will find it: by the PATH of a shell that is no login shell, in this environment. */
export function checkNode(examined: Examined): Finding[] {
  return [...onPath(examined), version('node-version', examined.node), ...extraCertificates(examined)];
}

function onPath({ env, platform, node }: Examined): Finding[] {
  const check = 'node-on-path';
  const own = env['RALPH_NODE'];
  const program = own || 'node';
  const asked =
    platform === 'win32'
      ? spawnSync('where', [program], { env, encoding: 'utf8', timeout: TIME_LIMIT_MS })
      : spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', program], {
          env,
          encoding: 'utf8',
          timeout: TIME_LIMIT_MS,
        });
  const found = asked.status === 0 ? (asked.stdout.split('\n')[0] ?? '').trim() : '';
  if (found === '') {
    return [
      {
        check,
        level: 'error',
        message: own
          ? `RALPH_NODE is ${own}, and there is no such program.`
          : 'the hooks find no node: a shell that is no login shell has none on its PATH (version managers often set it up for login shells only).',
        mend: `put node on the PATH of the shell that starts claude, or: export RALPH_NODE=${node.path}`,
      },
    ];
  }
  const ran = spawnSync(found, ['--version'], { env, encoding: 'utf8', timeout: TIME_LIMIT_MS });
  const given = /\d+\.\d+\.\d+/.exec(ran.stdout ?? '')?.[0];
  if (given === undefined) {
    const mend = `make it run, or: export RALPH_NODE=${node.path}`;
    return [{ check, level: 'error', message: `the hooks would run ${found}, which does not start.`, mend }];
  }
  const judged = version(check, { path: found, version: given });
  return [judged.level === 'ok' ? fine(check, `the hooks run ${found} (${given}).`) : judged];
}

function version(check: string, node: Examined['node']): Finding {
  const plain = node.version.replace(/^v/, '');
  if (atLeast(plain, OLDEST_NODE)) return fine(check, `node ${plain}.`);
  return {
    check,
    level: 'error',
    message: `${node.path} is node ${plain}; ralph-loop needs ${OLDEST_NODE} or newer.`,
    mend: 'install a newer node, or point RALPH_NODE at one.',
  };
}

function extraCertificates({ env, platform }: Examined): Finding[] {
  const check = 'extra-ca-certs';
  if (!env['NODE_EXTRA_CA_CERTS']) return [];
  if (platform !== 'win32') {
    return [
      fine(check, 'NODE_EXTRA_CA_CERTS is set; hooks start without it (80 ms each), their commands get it back.'),
    ];
  }
  return [
    {
      check,
      level: 'warning',
      message: 'NODE_EXTRA_CA_CERTS is set: it adds about 80 ms to every hook and every tick of the status line.',
      mend: 'leave it unset where claude is started, if nothing there needs it.',
    },
  ];
}

const CHECK = 'block-cap';
const VARIABLE = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';

/** The client overrides the ninth block in a row without a tool call, unless this variable says otherwise. */
export function checkBlockCap({ env, sources }: Examined): Finding[] {
  const set = sources.flatMap(({ value, path }): Finding[] => {
    const cap = (value['env'] as Record<string, unknown> | undefined)?.[VARIABLE];
    if (cap === undefined || String(cap) === '0') return [];
    const message = `${path} sets ${VARIABLE} to ${String(cap)}: a loop started by hand ends at that many blocks without a tool call.`;
    return [{ check: CHECK, level: 'warning', message, mend: 'take it out, or start loops through the launcher.' }];
  });
  if (set.length > 0) return set;
  const inSettings = sources.some(
    ({ value }) => (value['env'] as Record<string, unknown> | undefined)?.[VARIABLE] !== undefined,
  );
  if (env[VARIABLE] === '0' || inSettings) return [fine(CHECK, `${VARIABLE} is 0.`)];
  const mend = `export ${VARIABLE}=0`;
  if (env['RALPH_ACTIVE'] === '1' || env[VARIABLE] !== undefined) {
    const message = `${VARIABLE} is ${env[VARIABLE] ?? 'not set'} here: a loop started by hand ends at the ninth iteration in a row without a tool call.`;
    return [{ check: CHECK, level: 'warning', message, mend }];
  }
  return [fine(CHECK, `the launcher sets ${VARIABLE}. For a start by hand: ${mend}`)];
}
