import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules } from '../../../src/guard/guard.ts';

const RULES: GuardRules = {
  projectDir: '/p',
  home: '/home/u',
  ownFiles: ['/p/.claude/settings.json'],
  controlProgram: [],
  agentCommands: [],
  caseInsensitive: false,
};
const TYPES: GuardRules = { ...RULES, typesUnasked: true };

const ruleOf = async (command: string, rules = TYPES): Promise<string> => {
  const verdict = await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: '/p' }, rules);
  return verdict.decision === 'deny' ? verdict.rule : 'allowed';
};

const TYPED = [
  'bash -i',
  'bash',
  'sh -s',
  'sudo bash',
  'env -i bash --norc',
  'exec zsh',
  'f() { bash; }; f',
  'timeout 5 node',
  'python3',
  'python3 -i x.py',
  'python3 -',
  'python3 -m pdb x.py',
  'node inspect x.js',
  'node -i',
  'irb',
  'psql shop',
  'sqlite3 a.db',
  'ed notes.txt',
  'vim notes.txt',
  'git log | less',
  'cat > notes.txt',
  'cat - >> notes.txt',
  'tee notes.txt',
  'dd of=notes.txt',
  'read line; eval "$line"',
  'xargs rm',
  'source /dev/stdin',
  'bash < /dev/tty',
  'git commit',
  'git rebase -i HEAD~2',
  'docker exec -it web sh',
  'ssh host',
  'tmux',
  'script -q /dev/null',
  'crontab -e',
  'perl',
  'iex -S mix',
  'gdb ./a.out',
  'duckdb shop.db',
  'redis-cli -p 6380',
  'node /dev/stdin',
  'docker run -it alpine',
  'docker run -it --network host -v a:b alpine',
  'docker exec -it web bash -l',
  'docker exec -it web bash --rcfile x',
  'docker exec -c 5 -it web sh',
  'docker exec -it web psql shop',
  'kubectl exec -it pod -- sh',
];
const GIVEN = [
  'bash -c "npm test"',
  'bash run.sh',
  'echo "ls" | bash',
  'python3 x.py',
  'python3 -c "print(1)"',
  'python3 -m http.server 8000',
  'python3 - <<E\nprint(1)\nE',
  'node --test',
  'node -e "1"',
  'node --version',
  'perl -pe s/a/b/ notes.txt',
  'cat notes.txt > copy.txt',
  'cat <<E > notes.txt\nx\nE',
  'echo a | tee notes.txt',
  'dd if=a of=b',
  'find . -name a | while read f; do echo "$f"; done',
  'ls | xargs wc -l',
  'git commit -m "Fix it"',
  'git commit -am "Fix it"',
  'git commit --amend --no-edit',
  'git rebase main',
  'GIT_EDITOR=true git commit --amend',
  'psql shop -c "select 1"',
  'sqlite3 a.db "select 1"',
  'docker run --rm image npm test',
  'ssh host uptime',
  'tmux new -d "npm start"',
  'script -qec "npm test" /dev/null',
  'source .venv/bin/activate',
  'crontab -l',
  'npm test < /dev/null',
  "perl -i -pe 's/a/b/' notes.txt",
  'ruby -i -pe "gsub(1, 2)" notes.txt',
  'duckdb -c "select 1"',
  'redis-cli -p 6380 ping',
  'redis-cli --scan',
  'psql "$URL" -Atc "select 1"',
  'docker exec -it web sh -c "ls /app"',
  'docker run --rm -it -v a:b alpine ls -la',
  'docker run --rm -it node npm test',
  'kubectl exec -it pod -- ls',
  'parallel echo ::: a b',
  'screen -ls',
  "iex <<< 'x'",
  'node /dev/stdin <<< 1',
  'curl https://a.example | python3 /dev/stdin',
  'clj -M:test',
  'ipython run.py',
];

test('commands that take further commands from their terminal are refused', async () => {
  for (const command of TYPED) assert.equal(await ruleOf(command), 'terminal-input', command);
});

test('commands that have their input in the call pass', async () => {
  for (const command of GIVEN) assert.equal(await ruleOf(command), 'allowed', command);
});

test('control: a client that asks about all input lets every one of them pass', async () => {
  for (const command of [...TYPED, ...GIVEN]) assert.equal(await ruleOf(command, RULES), 'allowed', command);
});
