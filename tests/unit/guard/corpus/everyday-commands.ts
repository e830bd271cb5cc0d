/** A day's work of an agent, one command a line. */
export const EVERYDAY: readonly string[] = String.raw`
ls
ls -la
ls -la src docs
ls *.md
pwd
cat README.md
cat package.json | head -n 40
head -n 5 src/index.ts
tail -n 100 docs/guide.md
less README.md
wc -l src/*.ts
file dist/main.js
stat package.json
tree -L 2 -I node_modules
du -sh .
df -h
find . -name "*.test.ts" -not -path "*/node_modules/*"
find src -type f | wc -l
find . -name node_modules -prune -o -name "*.ts" -print | head
find . -type d -name dist -exec rm -rf {} +
find . -name "*.log" -delete
fd -e ts
fd guide docs
rg foo
rg -n "TODO" src
rg -l "import .* from" | head
rg --files | wc -l
rg -t ts "describe\(" -c
rg foo -g "*.md"
grep -rn foo src
grep -n "version" package.json
grep -rln "foo" src docs
grep -E "a|b" README.md
git grep foo
git grep -n "export function" -- src
ag foo src
sed -n 1,80p src/index.ts
sed -n '/start/,/end/p' docs/guide.md
sed -i 's/foo/bar/g' src/index.ts
awk '{print $1}' docs/guide.md
awk -F: '{print $2}' package.json
jq .scripts package.json
jq -r '.dependencies | keys[]' package.json
sort docs/guide.md | uniq -c | sort -rn | head
cut -d, -f1 docs/data.csv
diff src/index.ts dist/main.js
diff <(sort a.txt) <(sort b.txt)
mkdir -p src/lib/deep
touch src/lib/new.ts
cp src/index.ts src/lib/copy.ts
cp -r docs /tmp/docs-copy
mv src/lib/copy.ts src/lib/moved.ts
rm src/lib/moved.ts
rm -rf dist coverage
rm -f *.tmp
ln -s ../src dist/src
chmod +x scripts/build.sh
echo hello
echo "export const a = 1;" > src/a.ts
echo "more" >> docs/guide.md
printf '%s\n' one two > /tmp/list.txt
cat > src/b.ts <<< 'export {};'
cat a.txt b.txt > c.txt
tee /tmp/out.log < README.md
npm ci
npm install
npm install --save-dev typescript
npm i -D vitest @types/node
npm uninstall left-pad
npm test
npm test -- --grep "slug"
npm test 2>&1 | tail -n 50
npm run build
npm run lint -- --fix
npm run -s typecheck
npm ls --depth=0
npm outdated
npm audit --omit=dev
npm view typescript version
npm pack --dry-run
npm version --no-git-tag-version patch
npx tsc --noEmit
npx tsc -p tsconfig.json --watch false
npx vitest run
npx vitest run src/a.test.ts -t "works"
npx jest --coverage
npx eslint . --ext .ts
npx eslint --fix src
npx prettier --check .
npx prettier --write src docs
npx biome check --write src
npx playwright test --project=chromium
npx tsx src/index.ts
npx --yes create-vite app
pnpm install --frozen-lockfile
pnpm -r test
yarn install
yarn test
bun install
bun test
deno test
node --version
node src/index.js
node --test
node -e "console.log(1 + 1)"
node -p "process.versions.node"
node -p "require('./package.json').version"
node --import tsx --test tests/a.test.ts
NODE_ENV=test npm test
CI=1 npm test
DEBUG=app:* npm start
PORT=4000 npm run dev &
timeout 60 npm test
time npm run build
nohup npm start > /tmp/server.log 2>&1 &
kill %1
sleep 2 && curl -s localhost:3000/health
curl -s http://localhost:3000/api | jq .
curl -fsSL https://example.com/data.json -o /tmp/data.json
curl -X POST -H 'content-type: application/json' -d '{"a":1}' localhost:3000
wget -q https://example.com/file.txt -O /tmp/file.txt
ps aux | grep node
pgrep -fl node
lsof -i :3000
which node
type npm
env | grep -i node
export FOO=bar && npm test
git status
git status --short
git diff
git diff --stat
git diff HEAD~1 -- src
git diff --cached
git log --oneline -20
git log -p -2 -- src/index.ts
git log --since=yesterday --author=me
git show HEAD
git show HEAD:src/index.ts
git show --stat HEAD~2
git blame src/index.ts
git add -A
git add src docs
git add -p src < /dev/null
git commit -m "Add a slug function"
git commit -am "Fix the build"
git commit --amend --no-edit
git commit -m "$(cat docs/message.txt)"
git branch
git branch -a
git branch -d old
git checkout -b feature/slugs
git switch -c feature/other
git switch main
git stash list
git merge --no-ff feature/slugs
git rebase main
git cherry-pick abc123
git revert --no-edit HEAD
git tag v1.0.0
git fetch origin
git pull --rebase
git remote -v
git config user.name
git config --get remote.origin.url
git rev-parse --short HEAD
git ls-files | head
git ls-files "*.ts" | xargs wc -l
git check-ignore -v dist
git clean -nd
git worktree list
git reflog | head
git bisect start
git blame -L 1,20 src/index.ts
git restore src/index.ts
git restore --staged src/index.ts
git rm --cached dist/main.js
git mv src/a.ts src/c.ts
git diff --name-only main... | xargs -r npx eslint
git archive --format=tar HEAD src | tar -tf -
gh pr list
gh pr view 12 --comments
gh pr create --fill
gh pr checks
gh issue view 7
gh run list --limit 5
python3 --version
python3 -m venv .venv
python3 -m pytest -q
python3 -m pip install -r requirements.txt
pip install -e .
pip list
pytest -x -q tests
pytest --cov=src
python3 manage.py migrate
python3 scripts/gen.py --out docs/out.md
python3 -c "print(1)"
python3 - <<< "print(2)"
ruff check .
ruff format src
black src
mypy src
uv sync
uv run pytest
poetry run pytest
tox -e py312
cargo build
cargo test
cargo test -- --nocapture
cargo clippy --all-targets
cargo fmt
cargo add serde
go build ./...
go test ./... -run TestA
go test -race -count=1 ./...
go vet ./...
go mod tidy
gofmt -w main.go
make
make test
make -j4 build
cmake -B build && cmake --build build
ctest --test-dir build
mvn -q test
./gradlew test
bundle install
bundle exec rspec
rake test
composer install
php artisan test
dotnet build
dotnet test
swift test
mix test
docker ps
docker build -t app .
docker run --rm -v "$PWD":/src -w /src node:20 npm test
docker compose up -d
docker compose logs --tail 50 web
docker compose down
docker exec -it web sh -c "ls /app"
docker images | head
kubectl get pods
kubectl logs deploy/web --tail=20
kubectl describe pod web-1
terraform fmt -check
terraform validate
terraform plan
aws s3 ls
psql -c "select 1"
sqlite3 app.db ".tables"
sqlite3 app.db "select count(*) from users"
redis-cli ping
mysql -e "show tables" app
tar czf /tmp/src.tgz src docs
tar tzf /tmp/src.tgz
tar xzf /tmp/src.tgz -C /tmp
zip -r /tmp/docs.zip docs
unzip -l /tmp/docs.zip
gzip -k docs/guide.md
rsync -a src/ /tmp/src/
scp dist/main.js host:/srv/app/
ssh host uptime
date
date +%F
whoami
uname -a
hostname
id
cal
history | tail
alias ll='ls -l'
test -f package.json && echo yes
[ -d node_modules ] || npm ci
if [ -f README.md ]; then cat README.md; fi
for f in src/*.ts; do echo "$f"; wc -l "$f"; done
for i in 1 2 3; do npm test && break; done
while ! curl -s localhost:3000; do sleep 1; done
until npm test; do sleep 5; done
cd src && ls
cd docs; grep -n foo *.md; cd ..
pushd src && ls && popd
(cd src && npm test)
{ npm run build; npm test; } 2>&1 | tee /tmp/all.log
npm test && git add -A && git commit -m "Pass the tests"
npm test || echo failed
xargs -n1 echo < docs/list.txt
ls src | xargs -I{} echo src/{}
seq 1 5 | xargs -P2 -I{} echo {}
base64 README.md | head -c 20
md5sum package.json
sha256sum dist/main.js > /tmp/sums
openssl rand -hex 16
xxd README.md | head
od -c README.md | head -n 2
column -t docs/table.txt
paste a.txt b.txt
tr a-z A-Z < README.md
nl README.md
fold -w 80 README.md
rev a.txt
comm -12 a.txt b.txt
join a.txt b.txt
split -l 100 big.txt /tmp/part-
patch -p1 < fix.patch
git apply --check fix.patch
git format-patch -1 -o /tmp
crontab -l
watch -n 1 date
yes | head -n 3
tmux ls
screen -ls
code --version
vim --version
man ls | head
npx http-server docs -p 8080 &
node dist/main.js --input src/index.ts --output /tmp/out.json
node scripts/main.cjs status
ffmpeg -i docs/a.mp4 -t 5 /tmp/a.gif
convert docs/a.png -resize 50% /tmp/a.png
pandoc README.md -o /tmp/readme.html
hugo --minify
terraform output -json > /tmp/out.json
echo "$PATH" | tr : '\n'
echo $((1 + 2))
x=$(git rev-parse HEAD); echo "$x"
files=$(git diff --name-only); echo "$files" | wc -l
read -r v < /tmp/list.txt; echo "$v"
trap 'echo bye' EXIT; npm test
set -euo pipefail; npm run build
eval "$(pyenv init -)" && python --version
eval "$(ssh-agent -s)" >/dev/null
eval "$(/opt/homebrew/bin/brew shellenv)"; brew --version
eval "$(fnm env --use-on-cd)"; node --version
eval "$(conda shell.bash hook)" && conda activate app && pytest -q
golangci-lint run --fix ./...
git subtree add --prefix vendor/x https://example.com/x main
bash --rcfile /dev/null -c 'npm test'
fish -C 'cd src' -c 'ls'
`
  .trim()
  .split('\n');
