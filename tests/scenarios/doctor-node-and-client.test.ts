import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fakeClient } from '../support/fake-client.ts';
import { changeSettings, doctorFinds } from './support/doctor-case.ts';

doctorFinds([
  {
    when: 'no node is on the PATH of the hooks',
    mutate: (p, env) => {
      const bin = join(p.home, 'no-node');
      mkdirSync(bin);
      symlinkSync('/bin/sh', join(bin, 'sh'));
      return { PATH: `${bin}:${env['PATH']?.split(':')[0]}` };
    },
    check: 'node-on-path',
    level: 'error',
    message: /the hooks find no node/,
  },
  {
    when: 'RALPH_NODE names no program',
    mutate: () => ({ RALPH_NODE: '/nowhere/node' }),
    check: 'node-on-path',
    level: 'error',
    message: /RALPH_NODE is \/nowhere\/node/,
  },
  {
    when: 'the node of the hooks is too old',
    mutate: (p) => {
      const node = join(p.home, 'node18');
      writeFileSync(node, '#!/bin/sh\necho v18.20.4\n', { mode: 0o755 });
      return { RALPH_NODE: node };
    },
    check: 'node-on-path',
    level: 'error',
    message: /node 18\.20\.4; ralph-loop needs 20\.12/,
  },
  {
    when: 'the programs of the sandbox are missing',
    mutate: (p, env) => {
      const bin = join(p.home, 'bare');
      mkdirSync(bin);
      const programs = spawnSync('/bin/sh', ['-c', 'command -v sh git env ps'], { encoding: 'utf8' }).stdout;
      for (const program of programs.trim().split('\n')) symlinkSync(program, join(bin, basename(program)));
      symlinkSync(process.execPath, join(bin, 'node'));
      return { PATH: `${bin}:${env['PATH']?.split(':')[0]}` };
    },
    check: 'sandbox',
    level: 'warning',
    message: /needs bubblewrap and socat, which are not installed/,
    fix: /^sudo apt-get install bubblewrap socat$/,
  },
  {
    when: 'bubblewrap cannot make a namespace',
    mutate: (p, env) => {
      const bin = join(p.home, 'failing');
      mkdirSync(bin);
      writeFileSync(
        join(bin, 'bwrap'),
        '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
        { mode: 0o755 },
      );
      return { PATH: `${bin}:${env['PATH']}` };
    },
    check: 'sandbox',
    level: 'warning',
    message: /bubblewrap fails: bwrap: No permissions to create new namespace/,
    fix: /max_user_namespaces/,
  },
  {
    when: 'there is no client',
    mutate: () => ({ PATH: '/usr/bin:/bin', RALPH_CLAUDE: '/nowhere/claude' }),
    check: 'client',
    level: 'error',
    message: /claude was not found/,
  },
  {
    when: 'the client is older than the floor',
    mutate: (p) => fakeClient(p, '2.1.212'),
    check: 'client',
    level: 'error',
    message: /Claude Code 2\.1\.212 .* ralph-loop needs 2\.1\.213 or newer/,
  },
  {
    when: 'the client is too old to block on a failing guardrail',
    mutate: (p) => fakeClient(p, '2.1.213'),
    check: 'client',
    level: 'warning',
    message: /older than 2\.1\.295/,
  },
  {
    when: 'the environment of a start by hand keeps the cap on blocks',
    mutate: () => ({ RALPH_ACTIVE: '1' }),
    check: 'block-cap',
    level: 'warning',
    message: /CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is not set here/,
  },
  {
    when: 'settings set the cap on blocks',
    mutate: (p) =>
      changeSettings(p, (settings) => {
        settings.env = { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '8' };
      }),
    check: 'block-cap',
    level: 'warning',
    message: /sets CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to 8/,
  },
  {
    when: 'the project is not trusted',
    mutate: (p) => rmSync(join(p.home, '.claude.json')),
    check: 'workspace-trust',
    level: 'warning',
    message: /does not trust this project yet/,
  },
  {
    when: 'the place for contracts is no directory',
    mutate: (p) => {
      p.write('../home/file', '');
      return { XDG_STATE_HOME: join(p.home, 'file') };
    },
    check: 'state-home',
    level: 'error',
    message: /contracts and logs cannot be written/,
  },
]);
