import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { CODEX, inCodexProject } from '../support/codex/codex-project.ts';
import type { ResponsesReply, ResponsesRequest } from '../support/codex/responses-model.ts';
import { call, code, say, shell, status } from '../support/codex/responses-model.ts';
import { callsIn, EVENTS, type Left, type Probed, type Step, TOOL_TIMEOUT, writeHook } from './probe.ts';

const PATCH = (name: string): string => `*** Begin Patch\n*** Add File: ${name}\n+made\n*** End Patch\n`;

/** The Codex under test. */
export function codex(): Probed {
  const printed = execFileSync(process.execPath, [CODEX, '--version'], { encoding: 'utf8' });
  return {
    version: /\d+\.\d+\.\d+/.exec(printed)?.[0] ?? 'unknown',
    session: async (script, options = {}) => {
      let left: Left | null = null;
      const tools = script.some((step) => 'own' in step && step.own === 'nested patch') ? 'code' : 'shell';
      await inCodexProject({ tools }, repliesOf(script), async ({ workspace, model, environment }) => {
        const command = writeHook(workspace.root, options);
        const hooks = EVENTS.flatMap((event) => {
          const timeout = event === 'PreToolUse' ? TOOL_TIMEOUT : 20;
          return [
            '-c',
            `hooks.${event}=[{hooks=[{type="command",command=${JSON.stringify(command)},timeout=${timeout}}]}]`,
          ];
        });
        const trust = options.untrusted ? [] : ['--dangerously-bypass-hook-trust'];
        const open = '--dangerously-bypass-approvals-and-sandbox';
        const words = ['exec', '--json', '--skip-git-repo-check', open, ...trust, ...hooks, 'Begin.'];
        const child = spawn(process.execPath, [CODEX, ...words], {
          cwd: workspace.project,
          env: environment(options.env),
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        let stdout = '';
        child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
        await once(child, 'close');
        const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
        left = {
          calls: callsIn(workspace.root),
          requests: model.requests.map(({ input }) => input),
          lines: lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>),
          code: child.exitCode,
          files: readdirSync(workspace.project),
        };
      });
      if (left === null) throw new Error('the session did not run');
      return left;
    },
  };
}

function repliesOf(script: readonly Step[]): (request: ResponsesRequest) => ResponsesReply {
  return ({ index, input }) => {
    const step = script[index] ?? { say: 'The script is over.' };
    if ('say' in step) return say(step.say);
    if ('run' in step) return shell(step.run);
    if ('status' in step) return status(step.status, { error: { message: 'No.' } });
    switch (step.own) {
      case 'heredoc patch':
        return shell(`apply_patch <<'EOF'\n${PATCH('heredoc')}EOF`);
      case 'nested patch':
        return code(`text(await tools.apply_patch(${JSON.stringify(PATCH('nested'))}))`);
      case 'terminal':
        return shell('bash -i', { tty: true });
      case 'typed': {
        const session_id = Number(/session ID (\d+)/i.exec(input)?.[1]);
        return call('write_stdin', { session_id, chars: 'touch typed\nexit\n' });
      }
      default:
        return step.own satisfies never;
    }
  };
}
