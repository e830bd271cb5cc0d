import { join } from 'node:path';
import { changeSettings, type DoctorCase, doctorFinds, PROMPT, stopHook } from './support/doctor-case.ts';

doctorFinds([
  {
    when: 'a settings file is broken',
    mutate: (p) => p.write('.claude/settings.local.json', '{\n  // mine\n}\n'),
    check: 'settings-readable',
    level: 'error',
    message: /settings\.local\.json is not valid JSON: a comment.*line 2, column 3.*ignores the whole file/,
  },
  ...['.claude/settings.json', '.claude/settings.local.json', '../home/.claude/settings.json'].map(
    (path): DoctorCase => ({
      when: `${path} turns all hooks off`,
      mutate: (p) => changeSettings(p, (settings) => Object.assign(settings, { disableAllHooks: true }), path),
      check: 'hooks-enabled',
      level: 'error',
      message: /sets disableAllHooks/,
    }),
  ),
  {
    when: 'the hooks are not registered',
    mutate: (p) => changeSettings(p, (settings) => delete settings.hooks),
    check: 'registration',
    level: 'error',
    message: /not registered in .*SessionStart, UserPromptSubmit, Stop, StopFailure/,
    fixed: true,
  },
  {
    when: 'one hook is registered by another command of ours',
    mutate: (p) =>
      changeSettings(p, (settings) => {
        stopHook(settings).command += ' --old';
      }),
    check: 'registration',
    level: 'error',
    message: /registers our Stop hook with a different command/,
    fixed: true,
  },
  {
    when: 'the Stop hook is registered by hand as well',
    mutate: (p) =>
      changeSettings(
        p,
        (settings) => {
          const hook = { type: 'command', command: 'node .claude/hooks/ralph-stop-hook.cjs' };
          settings.hooks = { Stop: [{ hooks: [hook] }] };
        },
        '.claude/settings.local.json',
      ),
    check: 'registration',
    level: 'error',
    message: /settings\.local\.json registers our Stop hook with a different command/,
  },
  {
    when: 'the Stop hook has less time than an idle loop sleeps',
    mutate: (p) => {
      p.write('.claude/ralph/PROMPT.md', PROMPT.replace('---\n#', 'idle:\n  delay: 30s\n  max_delay: 20m\n---\n#'));
      changeSettings(p, (settings) => {
        stopHook(settings).timeout = 600;
      });
    },
    check: 'stop-timeout',
    level: 'error',
    message: /gives the Stop hook 600 s; .* more than 1200 s/,
  },
  ...['.claude/settings.json', '.claude/settings.local.json', '../home/.claude/settings.json'].map(
    (path): DoctorCase => ({
      when: `${path} has a Stop hook of somebody else`,
      mutate: (p) =>
        changeSettings(
          p,
          (settings) => {
            settings.hooks ??= {};
            settings.hooks['Stop'] ??= [];
            settings.hooks['Stop'].push({ hooks: [{ type: 'command', command: `say done ${'x'.repeat(200)}` }] });
          },
          path,
        ),
      check: 'other-stop-hooks',
      level: 'warning',
      message: /another Stop hook is registered in .*: say done x{51}…/,
    }),
  ),
  {
    when: 'an enabled plugin has a Stop hook',
    mutate: (p) => {
      const dir = join(p.home, 'plugin');
      p.write('../home/plugin/hooks/hooks.json', { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'x' }] }] } });
      p.write('../home/.claude/plugins/installed_plugins.json', {
        version: 2,
        plugins: { 'other@market': [{ installPath: dir }], 'off@market': [{ installPath: dir }] },
      });
      p.write('../home/.claude/settings.json', { enabledPlugins: { 'other@market': true, 'off@market': false } });
    },
    check: 'other-stop-hooks',
    level: 'warning',
    message: /another Stop hook is registered in the plugin other@market/,
  },
]);
