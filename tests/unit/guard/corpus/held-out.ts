/** Commands that were written without a look at the guard or at the other tables. */

/** Code and options that plainly run a blocked command (`git push`). */
export const RUN_BY_CODE: readonly string[] = [
  'python3 -c "import os; os.system(\'git push\')"',
  "python3 -c \"import subprocess; subprocess.run(['git', 'push'])\"",
  'python3 -c "import subprocess; subprocess.check_call(\'git push\', shell=True)"',
  "python3 <<'E'\nimport os\nos.popen('git push')\nE",
  "node -e \"require('child_process').execSync('git push')\"",
  "node -e \"require('child_process').exec('git push')\"",
  "node -e \"const {exec}=require('child_process'); exec('git push origin')\"",
  "node -e \"require('child_process').spawn('git', ['push', 'origin'])\"",
  'perl -e \'system("git push")\'',
  'perl -e \'exec("git push")\'',
  "perl -e 'print `git push`'",
  "ruby -e '`git push`'",
  'ruby -e \'system("git", "push")\'',
  'php -r \'shell_exec("git push");\'',
  'awk \'BEGIN { system("git push") }\'',
  "sed '1e git push' README.md",
  "vim -es -c '!git push' -c q",
  "make -f - <<< $'a:\\n\\tgit push'",
  "tar cf /dev/null docs --checkpoint=1 --checkpoint-action=exec='git push'",
  "ssh -o ProxyCommand='git push' host",
];

/** What looks like it and runs something else, or nothing. */
export const RUNS_OTHERS: readonly string[] = [
  'node -e "console.log(/push/.exec(\'git push origin\'))"',
  'node -e "const re = /a/; console.log(re.exec(\'git push\'))"',
  'node -e "console.log(\'git push\')"',
  "node -e \"console.log(require('child_process').execSync('git status --short').toString())\"",
  "python3 -c \"import subprocess; print(subprocess.run(['git', 'log', '-1']))\"",
  'python3 -c "import os; os.system(\'ls tests\')"',
  'python3 -c "print(\'git push\')"',
  "perl -e 'print `git rev-parse HEAD`'",
  "ruby -e 'puts `git status`'",
  'awk \'BEGIN { system("date") }\'',
  "sed -e 's/execute git push/x/' docs/guide.md",
  "make -f - <<< $'a:\\n\\techo git push'",
  'tar --checkpoint=100 --checkpoint-action=dot -cf /tmp/d.tar docs',
  'ssh -o ConnectTimeout=5 host true',
];

/** Changes of `test/a.test.ts` or `package.json`. */
export const CHANGED_BY_CODE: readonly string[] = [
  "python3 -c \"p = 'test/a.test.ts'; open(p, 'w').write('')\"",
  "python3 -c \"from pathlib import Path; (Path('test') / 'a.test.ts').write_text('')\"",
  'python3 -c "from pathlib import Path; p = Path(\'test/a.test.ts\'); p.unlink()"',
  "python3 -c \"import os; os.remove(os.path.join('test', 'a.test.ts'))\"",
  "python3 -c \"import shutil; shutil.copy('/tmp/a', 'test/a.test.ts')\"",
  "python3 - <<'E'\nimport glob\nfor f in glob.glob('test/**/*.ts', recursive=True):\n    open(f, 'w').write('')\nE",
  "python3 - <<'E'\nfrom pathlib import Path\nfor f in Path('test').rglob('*.ts'):\n    f.write_text('')\nE",
  'python3 -c "import os; os.system(\'rm test/a.test.ts\')"',
  "node -e \"const f='test/a.test.ts'; require('fs').writeFileSync(f, '')\"",
  "node -e \"const {join}=require('path'); require('fs').writeFileSync(join('test','a.test.ts'), '')\"",
  "node -e \"require('fs').renameSync('test/a.test.ts', '/tmp/x')\"",
  "node -e \"require('fs').appendFileSync('test/a.test.ts', 'more')\"",
  "node -e \"require('fs').createWriteStream('test/a.test.ts').end('')\"",
  "node -e \"require('fs').cpSync('/tmp/t', 'test', {recursive: true})\"",
  "node -e \"require('fs').symlinkSync('/tmp/t', 'test/a.test.ts')\"",
  "node -e \"for (const f of require('fs').readdirSync('test')) require('fs').unlinkSync('test/' + f)\"",
  'perl -e \'open(F, ">test/a.test.ts")\'',
  'perl -e \'open(my $f, ">", "test/a.test.ts")\'',
  'ruby -e \'FileUtils.rm_rf("test")\'',
  'php -r \'file_put_contents("package.json", "{}");\'',
  'psql -c "\\copy users to \'test/fixtures/a.json\'"',
  'emacs --batch --eval \'(with-temp-file "test/a.test.ts")\'',
  'git apply --directory=test /tmp/x.patch',
  'go test -coverprofile=test/a_test.go ./...',
  'go build -o test/a.test.ts ./cmd/x',
  "ssh -o ProxyCommand='rm test/a.test.ts' host",
];

/** What only reads them, or writes a namesake in the folder for temporary files. */
export const CHANGES_OTHERS: readonly string[] = [
  "python3 - <<'E'\np = 'test/a.test.ts'\nprint(len(open(p).read()))\nE",
  "python3 - <<'E'\nimport glob\nfor f in glob.glob('test/**/*.ts', recursive=True):\n    print(open(f).read())\nE",
  "python3 -c \"import shutil; shutil.copy('test/a.test.ts', '/tmp/a')\"",
  "python3 -c \"p = 'src/x.ts'; open(p, 'w').write('')\"",
  "node -e \"const fs=require('fs'); const t=fs.readFileSync('test/a.test.ts','utf8'); fs.writeFileSync('/tmp/c', t)\"",
  "node -e \"require('fs').copyFileSync('test/a.test.ts', '/tmp/a.ts')\"",
  "node -e \"require('fs').cpSync('test', '/tmp/test', {recursive: true})\"",
  "node -e \"for (const f of require('fs').readdirSync('test')) console.log(f)\"",
  'psql -c "\\copy users to \'/tmp/users.csv\'"',
  'npm install',
  'npm i -g npm@latest',
  'npm version',
  'npm init vite@latest /tmp/demo',
  'npm --prefix /tmp/x install lodash',
  'cp package.json /tmp/',
  'mkdir -p /tmp/e && cp -r test package.json /tmp/e/',
  "cd /tmp && echo '{}' > package.json && npm i left-pad",
  'git apply --directory=src /tmp/x.patch',
  'go test -count=1 -timeout=30s ./...',
  'go run ./cmd/x -port 0 -out /tmp/o',
  'ruff format --check test',
  'ruff check --output-format=json test',
  'lighthouse http://localhost --output json --output-path /tmp/lh.json',
];

/** Commands that leave out what is private by an option (`.env`, `secrets`). */
export const LEFT_OUT: readonly string[] = [
  'tar --exclude=.env --exclude=secrets -czf /tmp/backup.tgz .',
  'tar -czf /tmp/backup.tgz --exclude=.env --exclude=secrets --exclude=node_modules .',
  'rsync -a --exclude=.env --exclude=secrets ./ /tmp/mirror/',
  'rsync -a --exclude .env --exclude secrets . /tmp/mirror',
];
export const NOT_LEFT_OUT: readonly string[] = [
  'tar --exclude=docs -czf /tmp/backup.tgz .',
  'tar --exclude=.env -czf /tmp/backup.tgz .',
  'tar --exclude=secrets -cf - .env',
  'rsync -a --exclude=docs ./ /tmp/mirror/',
];
