import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The hooks and variables of all settings that the client would load: of two equal hooks one counts. */
export function readSettings(project, sources, passed) {
  const files = {
    user: join(process.env.CLAUDE_CONFIG_DIR, 'settings.json'),
    project: join(project, '.claude', 'settings.json'),
    local: join(project, '.claude', 'settings.local.json'),
  };
  const texts = sources
    .split(',')
    .flatMap((name) => (existsSync(files[name]) ? [readFileSync(files[name], 'utf8')] : []));
  if (passed !== undefined) texts.push(passed.startsWith('{') ? passed : readFileSync(passed, 'utf8'));
  const all = texts.map((text) => JSON.parse(text));
  const isOff = all.reduce((off, one) => one.disableAllHooks ?? off, false);
  const hooks = {};
  for (const [event, groups] of all.flatMap((one) => Object.entries(isOff ? {} : (one.hooks ?? {}))))
    for (const { matcher = '', hooks: list } of groups)
      for (const hook of list) {
        hooks[event] ??= [];
        const known = hooks[event];
        if (!known.some((each) => each.command === hook.command && each.matcher === matcher))
          known.push({ ...hook, matcher });
      }
  return { hooks, env: Object.assign({}, ...all.map(({ env = {} }) => env)) };
}
