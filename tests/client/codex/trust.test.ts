import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CODEX, inCodexProject } from '../../support/codex/codex-project.ts';
import { trustAll } from '../../support/codex/trust-all.ts';

const OWN =
  '{\n  "hooks": {\n    "Stop": [{ "hooks": [{ "type": "command", "command": "true", "timeout": 5 }] }]\n  }\n}\n';

test("Codex: init writes its hooks beside the user's, doctor names a lost trust, uninit takes them out", async () => {
  const frontmatter = 'validation: ["test -f made.txt"]';
  await inCodexProject({ frontmatter }, [], async ({ workspace, codexHome, environment, main }) => {
    const file = join(codexHome, 'hooks.json');
    writeFileSync(file, OWN);
    const call = (words: readonly string[]) => main(words, { CODEX_HOME: codexHome, RALPH_CODEX: CODEX });
    const state = (): string | undefined => {
      const { findings } = JSON.parse(call(['doctor', '--json']).stdout) as {
        readonly findings: readonly { readonly check: string; readonly level: string; readonly message: string }[];
      };
      const found = findings.find(({ check }) => check === 'host-hooks');
      return found && `${found.level}: ${found.message}`;
    };
    assert.equal(state(), undefined, 'without our hooks, nothing is asked');
    const refused = call(['init', '--codex']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /PreToolUse/, 'the hooks are shown first');
    assert.equal(readFileSync(file, 'utf8'), OWN);

    const made = call(['init', '--codex', '--yes']);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /does not trust 5 of them.* type \/hooks and press t/s);
    assert.equal(readFileSync(`${file}.before-ralph-loop`, 'utf8'), OWN);
    const written = readFileSync(file, 'utf8');
    assert.match(state() ?? '', /^error: .*does not trust 5 of them/);
    const untrusted = call(['start', '--agent', 'codex']);
    assert.notEqual(untrusted.code, 0);
    assert.match(untrusted.stderr, /does not trust 5 of them.* "Trust all and continue", or type \/hooks and press t/s);
    assert.doesNotMatch(untrusted.stderr, /Checks before the start/, 'nothing runs in vain');

    await trustAll(environment() as NodeJS.ProcessEnv, workspace.project);
    assert.match(state() ?? '', /^ok: .* begins with: RALPH_ACTIVE=1 codex --no-daemon --disable unified_exec_tty$/);
    assert.match(
      call(['init', '--codex', '--yes']).stdout,
      /nothing to change.*Codex runs them\. .* begins with: RALPH_ACTIVE=1 codex --no-daemon --disable unified_exec_tty/s,
    );
    assert.equal(readFileSync(file, 'utf8'), written, 'a second init keeps every place, and so the trust');

    const started = call(['start', '--agent', 'codex']);
    assert.equal(started.code, 0, started.stderr);
    assert.match(started.stdout, /export RALPH_ACTIVE=1\n.*\n {2}codex --no-daemon --disable unified_exec_tty$/m);
    assert.doesNotMatch(started.stderr, /sandbox/, 'the session has the mode that the user gives it');
    assert.match(started.stderr, /Checks before the start/, 'control');

    // Control: one changed definition loses its trust.
    writeFileSync(file, written.replace('ralph-stop-hook.cjs', './ralph-stop-hook.cjs'));
    assert.match(state() ?? '', /^error: .*does not trust 1 of them/);
    writeFileSync(file, written.replace('ralph-stop-hook.cjs', 'of-a-former-install.cjs'));
    assert.match(state() ?? '', /^error: .*their program .*of-a-former-install\.cjs is gone/);
    writeFileSync(file, written.replace('{', '{"foo": 1,'));
    assert.match(state() ?? '', /^error: .*Codex reads 0 of them: .*hooks\.json: unknown field `foo`/);
    assert.match(call(['init', '--codex', '--yes']).stdout, /unknown field `foo`.* Next: correct what Codex names;/s);
    writeFileSync(file, written);

    assert.equal(call(['uninit', '--codex']).code, 0);
    assert.equal(readFileSync(file, 'utf8'), OWN);
    assert.equal(state(), undefined);
    assert.ok(existsSync(`${file}.before-ralph-loop`));
    assert.match(call(['start', '--agent', 'codex', '--fresh']).stderr, /Codex has no hooks of ralph-loop/);
  });
});
