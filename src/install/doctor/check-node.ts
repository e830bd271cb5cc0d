import { spawnSync } from 'node:child_process';
import { atLeast } from '../../core/versions.ts';
import { type Examined, type Finding, fine } from './finding.ts';

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
