import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { probesOf } from './list.ts';

/** Measures the facts of one client, `Claude Code` or `Codex`, and prints them with its version, as JSON. */
const [name = ''] = process.argv.slice(2);
const probed = name === 'Codex' ? codex() : claude();
const facts: Record<string, string> = {};
for (const { steps, options, facts: wanted } of probesOf(name)) {
  const left = await probed.session(steps, options);
  for (const [fact, { of }] of Object.entries(wanted)) facts[fact] = of(left);
}
console.log(JSON.stringify({ version: probed.version, facts }));
