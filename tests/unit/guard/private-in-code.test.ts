import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';
import { byRegularExpression } from './support/regular-expression-rules.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const guardrails = { ...NO_RULES, privateFiles: ['.env', '.env.*', '*.pem', '*.key', 'secrets', '.ssh', '.aws'] };
const decide = async (tool: string, input: object, patterns = guardrails.privateFiles): Promise<string> => {
  const call = { tool, input, cwd: project.dir };
  const verdict = await evaluateToolCall(call, {
    ...project.rules,
    guardrails: { ...guardrails, privateFiles: patterns },
  });
  return verdict.decision === 'deny' ? verdict.rule : 'allow';
};

const DENIED: readonly string[] = [
  'python3 -c "print(open(\'.env\').read())"',
  "python3 - <<'EOF'\nprint(open('.env').read())\nEOF",
  'python3 <<< "print(open(\'.env\').read())"',
  'echo "print(open(\'.env\').read())" | python3',
  "node -e \"console.log(require('fs').readFileSync('.env','utf8'))\"",
  'node -p "fs.readFileSync(\'./.env.production\')"',
  "node <<'EOF'\nconsole.log(require('fs').readFileSync('config/app.pem'))\nEOF",
  "node -e \"require('child_process').execSync('cat .env')\"",
  'ruby -e \'puts File.read(".env")\'',
  'perl -e \'open F, ".env"; print <F>\'',
  'php -r \'echo file_get_contents(".env");\'',
  'sqlite3 :memory: "select readfile(\'.env\')"',
  'sqlite3 x.db ".import .env t"',
  "lua -e \"print(io.open('.env'):read('*a'))\"",
  'Rscript -e \'readLines(".env")\'',
  'deno eval "Deno.readTextFileSync(\'.env\')"',
  'bun -e "await Bun.file(\'.env\').text()"',
  'awk \'BEGIN{while((getline l < ".env")>0) print l}\'',
  'julia -e \'print(read(".env", String))\'',
  'osascript -e \'read POSIX file ".env"\'',
  'weird -e "print(open(\'.env\').read())"',
  'weird --eval=\'read("secrets/token.txt")\'',
  'python3 -c "print(open(\'secrets/token.txt\').read())"',
  'python3 -c "from pathlib import Path; print(Path(\'.ssh/id_rsa\').read_text())"',
  'python3 -c "import os; print(open(os.path.expanduser(\'~/.aws/credentials\')).read())"',
  'vim -es -c ":r .env" -c ":q"',
];

const ALLOWED: readonly string[] = [
  'node -p "process.env.HOME"',
  'node -e "console.log(process.env)"',
  'node -p "import.meta.env.MODE"',
  'node -e "console.log(Object.entries({a: 1}).map((e) => e.key))"',
  'node -e "[1].map((e) => e\n.key)"',
  'node -e "require(\'dotenv/config\')"',
  "node -e \"require('fs').readFileSync('README.md')\"",
  "node -e \"require('fs').readFileSync('.gitignore')\"",
  'node -e "console.log(require(\'./package.json\').version)"',
  'python3 -c "import secrets; print(secrets.token_hex())"',
  'python3 -c "import os; print(os.environ[\'HOME\'])"',
  'python3 -c "print(open(\'.environment\').read())"',
  'python3 -c "print(1 / 2, 3.5)"',
  "python3 - <<'EOF'\nimport json\nprint(json.load(open('src/config.json'))['key'])\nEOF",
  'ruby -e \'puts ENV["HOME"]\'',
  "perl -ne 'print if /env/' README.md",
  'php -r \'echo getenv("HOME");\'',
  'sqlite3 x.db "select * from environment"',
  'awk -F= \'{print $2 > "out.txt"}\' README.md',
  'deno eval "Deno.env.get(\'HOME\')"',
  'lua -e "print(os.getenv(\'HOME\'))"',
  'weird -e "env(\'x\')"',
  "node -e \"console.log('environment', 'keys', 'asc')\"",
  'cat .environment',
];

describe('code that names a private file', () => {
  for (const command of DENIED)
    it(`is denied: ${JSON.stringify(command)}`, async () =>
      assert.match(await decide('Bash', { command }), /^private_files/));
  for (const command of ALLOWED)
    it(`is not found in: ${JSON.stringify(command)}`, async () =>
      assert.equal(await decide('Bash', { command }), 'allow'));
  it('is denied as the code of a tool', async () => {
    assert.match(await decide('mcp__ide__executeCode', { code: "print(open('.env').read())" }), /^private_files/);
    assert.equal(await decide('mcp__ide__executeCode', { code: 'print(1)' }), 'allow');
  });
  it('is denied by the rule for that file only, and missed by a regular expression', async () => {
    for (const command of DENIED) assert.equal(await decide('Bash', { command }, ['other.txt']), 'allow', command);
    const missed = DENIED.filter((command) => !byRegularExpression.guards(command));
    assert.ok(missed.length >= 15, `the control misses only ${missed.length} of ${DENIED.length}`);
  });
});
