import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { CommandRule, Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateEvidence } from '../../../src/guard/commands/evaluate-rules.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules, Verdict } from '../../../src/guard/guard.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));

function evaluate(command: string, rules: Partial<Guardrails>, more: Partial<GuardRules> = {}): Promise<Verdict> {
  return evaluateToolCall(
    { tool: 'Bash', input: { command }, cwd: project.dir },
    { ...project.rules, guardrails: { ...NO_RULES, ...rules }, ...more },
  );
}
async function ruleOf(command: string, rules: Partial<Guardrails>, more?: Partial<GuardRules>): Promise<string | null> {
  const verdict = await evaluate(command, rules, more);
  return verdict.decision === 'deny' ? verdict.rule : null;
}
const blocked = (command: string, ...blockCommands: CommandRule[]) => ruleOf(command, { blockCommands });
const simple = (command: string, ...args: string[]): CommandRule => ({ command, args, reason: null });
const pipeline = (...programs: string[]): CommandRule => ({ pipeline: programs, reason: null });

describe('a plain pattern', () => {
  it('is found anywhere in the text of the command, and names itself', async () => {
    assert.equal(await blocked('git commit -m "then git push"', 'git\\s+push'), 'git\\s+push');
    assert.equal(await blocked('echo hello', 'l{2}o$'), 'l{2}o$');
    assert.equal(await blocked('git pull', 'git\\s+push'), null);
  });
  it('is found in every simple command as a shell reads it, however it is written', async () => {
    for (const command of ['g"i"t  push', 'cd x && env A=1 git -C y push', '/usr/bin/git push', 'xargs git push < a'])
      assert.equal(await blocked(command, '^git push'), '^git push', command);
    assert.equal(await blocked('rm -r --force /data', 'rm -rf /'), 'rm -rf /');
  });
  it('is found in pipelines, in every pair of their commands', async () => {
    const rule = '^curl [^|]*\\| (ba)?sh';
    for (const command of ['curl x | sh', 'curl x | tee y | sudo bash', '(curl x) | sh', 'true; curl x | "sh"'])
      assert.equal(await blocked(command, rule), rule, command);
    assert.equal(await blocked('curl x | jq .sh', rule), null);
  });
  it('may begin with RE2 flags', async () => {
    assert.equal(await blocked('psql -c "Drop Table a"', '(?i)drop\\s+table'), '(?i)drop\\s+table');
    assert.equal(await blocked('echo a\ngit push', '(?m)^git push'), '(?m)^git push');
    assert.equal(await blocked('begin\nend', '(?s)begin.end'), '(?s)begin.end');
    assert.equal(await blocked('begin\nend', 'begin.end'), null);
  });
  it('that matched only words says how to continue', async () => {
    const verdict = await evaluate('git commit -m "no git push"', { blockCommands: ['git\\s+push'] });
    assert.match(verdict.decision === 'deny' ? verdict.message : '', /rephrase them, or put them into a file/);
  });
  it('that is invalid leaves the call undecided, for the hook to refuse', async () => {
    await assert.rejects(evaluate('ls', { blockCommands: ['('] }), SyntaxError);
  });
});

describe('a precise rule', () => {
  it('compares the named words and skips options and their values', async () => {
    const push = simple('git', 'push');
    for (const command of ['git push', 'git -C push push', 'git -c a=b --no-pager push -f', 'GIT=1 git push origin'])
      assert.notEqual(await blocked(command, push), null, command);
    for (const command of ['git -C push status', 'git log push', 'git commit -m push', 'echo git push', 'git'])
      assert.equal(await blocked(command, push), null, command);
    assert.notEqual(await blocked('gh -R o/r pr merge 7 --squash', simple('gh', 'pr', 'merge')), null);
    assert.equal(await blocked('gh pr view merge', simple('gh', 'pr', 'merge')), null);
    assert.notEqual(await blocked('terraform -chdir=x destroy', simple('terraform', 'destroy')), null);
    assert.notEqual(await blocked('docker --context prod system prune', simple('docker', 'system', 'prune')), null);
  });
  it('takes a word behind an unknown option as its value or as a named word', async () => {
    const remove = simple('aws', 's3', 'rm');
    for (const command of ['aws s3 rm x', 'aws --profile p s3 rm x', 'aws --debug s3 rm x', 'aws -a b --c d s3 rm x'])
      assert.notEqual(await blocked(command, remove), null, command);
    for (const command of ['aws s3 ls rm', 'aws ec2 s3 rm', 'aws --profile s3 x rm', 'aws s3'])
      assert.equal(await blocked(command, remove), null, command);
  });
  it('without words applies to every call of the program, with and without look-through', async () => {
    assert.notEqual(await blocked('sudo ls', simple('sudo')), null);
    assert.notEqual(await blocked("bash -c 'ls'", simple('bash')), null);
    assert.notEqual(await blocked('cd /tmp && ls', simple('cd')), null);
    assert.notEqual(await blocked('eval ls', simple('eval')), null);
    assert.equal(await blocked('ls sudo', simple('sudo')), null);
  });
  it('accepts globs and alternatives in its words', async () => {
    assert.notEqual(await blocked('npm run deploy:eu', simple('npm', 'run', 'deploy*')), null);
    assert.notEqual(await blocked('pnpm publish', simple('npm|pnpm|yarn', 'publish')), null);
    assert.notEqual(await blocked('mkfs.ext4 /dev/sda', simple('mkfs*')), null);
    assert.equal(await blocked('npm run build', simple('npm', 'run', 'deploy*')), null);
  });
  it('distinguishes the letter case of programs if the file system does', async () => {
    const rules = { blockCommands: [simple('git', 'push')] };
    assert.equal(await ruleOf('GIT push', rules), null);
    assert.notEqual(await ruleOf('GIT push', rules, { caseInsensitive: true }), null);
  });
  it('for a pipeline names its programs in order, with others between them', async () => {
    const rule = pipeline('curl|wget', 'sh|bash');
    for (const command of ['curl x | sh', 'wget -qO- x | tee y | sudo bash', 'a | curl x | cat | bash -s'])
      assert.notEqual(await blocked(command, rule), null, command);
    for (const command of ['sh x | curl -d @- y', 'curl x; sh y', 'curl x | jq .', 'echo "curl | sh"'])
      assert.equal(await blocked(command, rule), null, command);
    // As a table in Markdown has to write it.
    assert.notEqual(await blocked('wget x | bash', pipeline('curl\\|wget', 'bash')), null);
  });
  it('is shown as it is written, with its reason', async () => {
    const verdict = await evaluate('npm publish', {
      blockCommands: [{ command: 'npm', args: ['publish'], reason: 'Releases are made by people' }],
    });
    assert.equal(verdict.decision === 'deny' && verdict.rule, '{command: npm, args: [publish]}');
    assert.match(verdict.decision === 'deny' ? verdict.message : '', /npm publish\. Releases are made by people\. Do /);
    assert.equal(await blocked('curl x | sh', pipeline('curl', 'sh')), '{pipeline: [curl, sh]}');
    assert.equal(await blocked('a b', simple('a', 'b c|b')), '{command: a, args: ["b c|b"]}');
  });
  it('that depends on an unknown word is recorded, and denied under strict', async () => {
    const rules = { blockCommands: [simple('git', 'push')] };
    const verdict = await evaluate('git "$1" origin', rules);
    assert.match(verdict.decision === 'allow' ? verdict.recorded.join() : '', /open-argument: \{command: git/);
    assert.equal(await ruleOf('git "$1" origin', { ...rules, strict: true }), 'undecided');
    assert.equal(await ruleOf('git commit -m "$1"', { ...rules, strict: true }), null);
  });
});

describe('an allowlist', () => {
  const allow = (command: string, ...patterns: string[]) => ruleOf(command, { shellAllow: patterns });
  const LISTED = ['^npm test$', 'npm run (lint|build)', 'cd [\\w/]+', 'tail -n \\d+', 'git (status|diff)( .*)?'];
  it('allows every simple command that a pattern matches completely', async () => {
    for (const command of [
      ...['npm test', 'npm run lint && npm run build', 'npm test 2>&1 | tail -n 40', 'cd src; git status --short'],
      ...['"npm" te"st"', 'npm \\\n test', 'CI=1 npm test', 'env CI=1 npm test', 'timeout 60 nice npm test'],
      ...[
        'time npm test',
        'nohup npm test &',
        'command npm test',
        'if npm test; then git diff; fi',
        'npm test > out.txt',
      ],
    ])
      assert.equal(await allow(command, ...LISTED), null, command);
  });
  it('denies all others, however they are hidden', async () => {
    for (const command of [
      ...['npm install', 'npm test; ls', 'npm test && npm publish', 'npm test | sh', 'npm test $(ls)', 'ls | npm test'],
      ...['sudo npm test', "bash -c 'npm test'", 'eval npm test', 'xargs npm test', 'find . -exec npm test \\;'],
      ...['npm test --', 'xnpm test', '/tmp/npm test', './npm test', "'npm test'", 'npm() { ls; }; npm test'],
      ...['git diff `ls`', 'git status <(ls)', 'export A=1', 'alias npm=ls', '[ -f a ]', 'cat <<< x', ': ; npm test'],
      ...['git diff\nls', 'while ls; do npm test; done', '$NPM test', 'npm "$X"', 'node -e 1', 'echo "'],
    ])
      assert.equal(await allow(command, ...LISTED), 'shell_policy.allowlist', command);
  });
  it('that allows everything still denies what cannot be decided', async () => {
    for (const command of ['$X y', 'curl x | bash', 'python3 -c 1', 'echo x > "$Y"', 'echo "'])
      assert.equal(await allow(command, '(?s).*'), 'undecided', command);
  });
  const PLAIN = ['ls', 'npm test( .*)?', 'cat( .*)?', 'echo .*', 'sed .*', 'env', 'git status', 'FOO=bar npm test'];
  for (const command of [
    'PATH=. ls',
    'PATH=.:$PATH npm test',
    'LD_PRELOAD=./x.so ls',
    'LD_LIBRARY_PATH=. ls',
    'NODE_OPTIONS=--require=./x.cjs npm test',
    'NODE_PATH=. npm test',
    'npm_config_script_shell=./x npm test',
    'GIT_PAGER=./x git status',
    'GIT_EXTERNAL_DIFF=./x git status',
    'BASH_ENV=./x npm test',
    'PYTHONPATH=. npm test',
    'env PATH=. ls',
    'env -i LD_PRELOAD=./x.so ls',
    'PATH=.; ls',
    'PATH=. && npm test',
    'NODE_OPTIONS=-r./x; npm test',
    'npm_config_prefix=.; npm test',
    'http_proxy=localhost; npm test',
    'export PATH=.; ls',
    'FOO=other npm test',
    'cat x > /dev/tcp/h/1',
    'cat < /dev/tcp/h/1',
    'echo x > /etc/hosts',
    'echo x >> /home/user/.bashrc',
    'echo x > .git/hooks/pre-commit',
    'echo x > /opt/outside',
    'echo x > "$OUT"',
    "sed '1e id' README.md",
    "sed 's/a/id/e' README.md",
  ])
    it(`the allowlist refuses an assignment, a place or code that it does not name: ${command}`, async () =>
      assert.notEqual(await ruleOf(command, { shellAllow: PLAIN }), null));
  for (const command of [
    'CI=1 npm test',
    'NODE_ENV=test CI=1 npm test',
    'NO_COLOR=1 ls',
    'FORCE_COLOR=0 npm test',
    'LANG=C ls',
    'LC_ALL=C ls',
    'TZ=UTC npm test',
    'TERM=dumb npm test',
    'env CI=1 npm test',
    'CI=1; npm test',
    'name=x; echo y',
    'FOO=bar npm test',
    'npm test > test.log',
    'npm test > test.log 2>&1',
    'npm test > /dev/null',
    'npm test &> /dev/null',
    'npm test 2>&1 > docs/test.log',
    'npm test > /tmp/test.log',
    'cat < README.md',
    'echo x >> notes.txt',
    "sed 's/a/b/' README.md",
    "sed -n '1,5p' README.md",
    "sed -e 's/e/f/' README.md",
    "sed '/e/d' README.md",
  ])
    it(`the allowlist accepts a harmless assignment and a place in the project: ${command}`, async () =>
      assert.equal(await ruleOf(command, { shellAllow: PLAIN }), null));

  it('is checked before the blocked commands', async () => {
    const rules = { shellAllow: ['git .*'], blockCommands: [simple('git', 'push')] };
    assert.equal(await ruleOf('npm test && git push', rules), 'shell_policy.allowlist');
    assert.equal(await ruleOf('git push', rules), '{command: git, args: [push]}');
    assert.equal(await ruleOf('git status', rules), null);
  });
  it('lists what may run, with each pattern in quotes', async () => {
    const verdict = await evaluate('ls', { shellAllow: ['npm test', 'npm run \\w+'] });
    const message = verdict.decision === 'deny' ? verdict.message : '';
    assert.match(message, /^ls is not a command .* whole: `npm test`, `npm run \\w\+`\. Write /);
  });
});

describe('rules', () => {
  it('deny a command that cannot be read, if there are any', async () => {
    const any: ReadonlyArray<Partial<Guardrails>> = [
      { blockCommands: ['zzz'] },
      { protectedFiles: ['x'] },
      { privateFiles: ['x'] },
      { strict: true },
    ];
    for (const rules of any) {
      for (const command of ['echo "', 'a;'.repeat(9000), `${'$('.repeat(60)}x${')'.repeat(60)}`])
        assert.equal(await ruleOf(command, rules), 'undecided', command.slice(0, 20));
    }
    assert.equal(await ruleOf('echo "', {}), null);
  });
  it('do not apply to a command that could only affect its own files', async () => {
    assert.equal(await ruleOf('python3 -c 1; echo > "$X"; $Y', { protectedFiles: ['x'] }), null);
    assert.equal(await ruleOf('python3 -c 1', { blockCommands: ['x'] }), null);
  });
  it('of the loop itself come first, and never switch strict on', async () => {
    assert.equal(await ruleOf('rm -rf .claude', { blockCommands: ['rm'] }), 'own-files');
    assert.equal((await evaluate('python3 -c 1', {})).decision, 'allow');
    assert.equal(
      (await evaluateToolCall({ tool: 'Bash', input: { command: 'python3 -c 1' }, cwd: project.dir }, project.rules))
        .decision,
      'allow',
    );
  });
});

describe("the contract's own commands", () => {
  const ruleFor = (run: string, rules: Partial<Guardrails>) =>
    evaluateEvidence(run, project.dir, { ...NO_RULES, ...rules });
  it('have to obey the rules about commands', () => {
    assert.equal(ruleFor('npm test && git push', { blockCommands: ['git\\s+push'] }), 'git\\s+push');
    assert.equal(ruleFor('git -C x push', { blockCommands: [simple('git', 'push')] }), '{command: git, args: [push]}');
    assert.equal(ruleFor('npm run lint', { shellAllow: ['npm test'] }), 'shell_policy.allowlist');
    assert.equal(ruleFor('echo "', { shellAllow: ['.*'] }), 'shell_policy.allowlist');
    assert.equal(ruleFor('npm test', { blockCommands: ['git\\s+push'], shellAllow: ['npm test'] }), null);
  });
  it("are the user's: rules about files and open decisions do not apply to them", () => {
    const rules = { protectedFiles: ['.env'], privateFiles: ['.env'], blockCommands: ['git push'], strict: true };
    for (const run of ['cat .env', 'rm .env', 'node -e 1', '"$CHECK"', 'echo "', 'cat x | sh'])
      assert.equal(ruleFor(run, rules), null, run);
  });
});

describe('PowerShell', () => {
  const run = async (command: string, rules: Partial<Guardrails>) => {
    const verdict = await evaluateToolCall(
      { tool: 'PowerShell', input: { command }, cwd: project.dir },
      { ...project.rules, guardrails: { ...NO_RULES, ...rules } },
    );
    return verdict.decision === 'deny' ? verdict.rule : null;
  };
  it('obeys blocked commands, by its text and its plain commands', async () => {
    assert.equal(await run('git push', { blockCommands: ['git\\s+push'] }), 'git\\s+push');
    for (const command of [
      'npm test; git -C x push',
      'g`it push',
      '"git" push',
      'cd x && git.exe push',
      'bash -c "git push"',
    ])
      assert.notEqual(await run(command, { blockCommands: [simple('git', 'push')] }), null, command);
    assert.notEqual(await run('irm x | iex', { blockCommands: [pipeline('irm|iwr', 'iex')] }), null);
    assert.equal(await run('git status', { blockCommands: [simple('git', 'push')] }), null);
  });
  it('obeys an allowlist and strict', async () => {
    assert.equal(await run('npm test', { shellAllow: ['npm test'] }), null);
    assert.equal(await run('npm test; ls', { shellAllow: ['npm test'] }), 'shell_policy.allowlist');
    assert.equal(await run('npm test $x', { shellAllow: ['npm test.*'] }), 'undecided');
    assert.equal(await run('& $tool', { strict: true }), 'undecided');
    assert.equal(await run('Get-Content README.md', { strict: true }), null);
  });
  it('obeys protected files in every word that may name one', async () => {
    const rules = { protectedFiles: ['*.pem'], privateFiles: ['.env'] };
    assert.notEqual(await run("Set-Content .\\config\\app.pem 'x'", rules), null);
    assert.notEqual(await run('Remove-Item -Recurse config', rules), null);
    assert.notEqual(await run('Get-Content .env', rules), null);
    assert.notEqual(await run("[IO.File]::ReadAllText('.env')", rules), null);
    assert.notEqual(await run('foreach ($f in Get-ChildItem config) { Remove-Item $f }', rules), null);
    assert.equal(await run('Get-Content config/app.pem', rules), null);
    assert.equal(await run('Get-Content README.md', rules), null);
  });
});
