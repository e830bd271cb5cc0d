/** What people and agents run in projects of many kinds, where it reads, tests, checks, deploys and runs protected files. */
export const PROJECT_COMMANDS: readonly string[] = [
  ...String.raw`
npx vitest run test/a.test.ts
npx vitest run test/a.test.ts test/b.test.ts --reporter=dot
npx vitest related src/index.ts --run
npx vitest run --coverage --coverage.reporter=text test
npx jest test/a.test.ts -t "adds"
npx jest --runTestsByPath test/a.test.ts
npx jest --config test/jest.config.js
npx mocha test/a.test.ts --timeout 5000
npx mocha "test/**/*.spec.js" --require test/setup.js
npx ava test/a.test.ts
npx tap test/a.test.ts
npx tape test/a.test.ts
npx c8 node --test test/
npx nyc mocha test/a.test.ts
npx playwright test test/e2e/login.spec.ts --headed
npx cypress run --spec test/e2e/login.cy.ts
npx cucumber-js test/features
npx wdio run test/wdio.conf.ts
npx karma start test/karma.conf.js
node --test test/a.test.ts
node --test --test-name-pattern "adds" test/a.test.ts
node --import tsx --test test/a.test.ts
node --test "test/**/*.test.ts"
node test/a.test.ts
tsx test/run.ts
npx tsx test/run.ts
npx ts-node test/run.ts
bun test test/a.test.ts
deno test --allow-read test/a.test.ts
npm test -- test/a.test.ts
npm run test:unit -- test/a.test.ts
npm t -- test/a.test.ts
pnpm test test/a.test.ts
pnpm vitest run test/a.test.ts
pnpm exec vitest run test/a.test.ts
pnpm --filter api test -- test/a.test.ts
yarn test test/a.test.ts
yarn jest test/a.test.ts
yarn workspace api test test/a.test.ts
npx eslint test
npx eslint src test --max-warnings 0
npx eslint test/a.test.ts
npx tsc -p test/tsconfig.json --noEmit
npx tsc --noEmit test/a.test.ts
npx prettier --check test .github
npx prettier -c package-lock.json
npx biome check test
npx biome lint test/a.test.ts
npx oxlint test
npx stylelint test/fixtures/a.css
npx madge --circular test
npx depcheck
npx knip
npx lint-staged
npx commitlint --from HEAD~1
npx cspell test/a.test.ts docs/adr/0001.md
npx markdownlint docs/adr/0001.md
npx markdownlint-cli2 "docs/adr/*.md"
npx dprint check test/a.test.ts
npx npm-check-updates
npx lockfile-lint --path package-lock.json
npx envinfo
npx size-limit
npx esbuild test/a.test.ts --bundle --outfile=/tmp/a.js
npx rollup -c
npx vite build
npx next build
npx prisma generate
npx prisma migrate status
npx prisma validate --schema prisma/schema.prisma
npx drizzle-kit check
npx knex migrate:latest
npx typeorm migration:run -d src/data-source.ts
npx sequelize-cli db:migrate
npx wrangler dev
npx serve -p 3000 dist
npx tsd test
npx ajv validate -s schema.json -d deploy/values.json
npx spectral lint openapi.yaml
npx @redocly/cli lint openapi.yaml
npx zx scripts/x.mjs
npx nx test api
npx nx affected --target=test
npx turbo run test --filter=api
npx lerna run test
npx changeset status
npx license-checker --summary
npx snyk test
npx husky
npx semver -i patch 1.0.0
npx npm-run-all lint test
npx wait-on http://localhost:3000
npx cross-env CI=1 vitest run test/a.test.ts
npx dotenv -e .env.example -- npm test
npx concurrently "npm run dev" "npm run watch"
npx concurrently -n a,b "npm:dev:*" npm:lint
npx http-server test/fixtures -p 9000
npx json5 test/fixtures/a.json5
npx svgo --version
npm ci
npm install
npm ls --package-lock-only
npm pkg get scripts
npm explain lodash
npm run build --if-present
npm run lint -- src test
npm run dev -- --port 4000
npm exec vitest run test/a.test.ts
npm diff
npm dedupe --dry-run
npm whoami
npm config get registry
git add test/a.test.ts
git add .github/workflows/ci.yml
git add -- test package-lock.json
git diff -- test/a.test.ts
git diff main -- .github deploy
git log -p -- test/a.test.ts
git log --follow -- deploy/prod.yaml
git blame test/a.test.ts
git show HEAD:test/a.test.ts
git show HEAD:.github/workflows/ci.yml
git status test
git commit -m "Fix what test/a.test.ts expects"
git commit -m "Bump package-lock.json and .github/workflows/ci.yml" -- src
git ls-files test .github
git grep -n describe -- test
git shortlog -sn -- test
git diff --stat HEAD~3 -- package-lock.json
git check-attr -a test/a.test.ts
git log -S "expect(" --oneline -- test
git difftool --tool=vimdiff -- test/a.test.ts
git rev-list --count HEAD -- test
git hash-object test/a.test.ts
gh pr create --title "Fix tests" --body "See test/a.test.ts and .github/workflows/ci.yml"
gh pr view --json files
gh workflow view ci.yml
gh workflow run ci.yml
gh workflow run .github/workflows/ci.yml
gh run watch
gh issue create --title "x" --body "deploy/prod.yaml is wrong"
gh api repos/o/r/actions/workflows
gh pr checkout 3
glab mr create --title "Fix" --description "See test/a.test.ts"
cat test/a.test.ts
sed -n 1,40p test/a.test.ts
head -50 .github/workflows/ci.yml
grep -n "it(" test/a.test.ts
rg describe test
wc -l test/a.test.ts package-lock.json
diff test/a.test.ts test/b.test.ts
jq .packages package-lock.json
yq .jobs .github/workflows/ci.yml
yq '.spec.replicas' deploy/prod.yaml
cp test/a.test.ts /tmp/a.test.ts
cp -r test /tmp/test-copy
ls -la test .github/workflows
tree test
find test -name "*.ts"
stat test/a.test.ts
md5sum package-lock.json
sha256sum test/a.test.ts deploy/prod.yaml
awk '/describe/' test/a.test.ts
bat test/a.test.ts
less deploy/prod.yaml
tail -20 test/a.test.ts
sort -u test/fixtures/list.txt
comm -3 <(sort test/fixtures/list.txt) <(sort src/list.txt)
column -s, -t test/fixtures/a.csv
xxd test/fixtures/a.bin | head
file test/fixtures/a.bin
strings test/fixtures/a.bin
tar tf test/fixtures/a.tar
tar tf a.tar .claude/settings.json
tar tzf a.tgz test
tar czf /tmp/t.tgz test
unzip -l test/fixtures/a.zip
zipinfo test/fixtures/a.zip
gzip -l test/fixtures/a.gz
zcat test/fixtures/a.gz | head
od -c test/fixtures/a.bin | head
hexdump -C test/fixtures/a.bin | head
nl test/a.test.ts
cmp test/fixtures/a.bin test/fixtures/b.bin
realpath test/a.test.ts
basename test/a.test.ts .test.ts
test -f test/a.test.ts && echo yes
[ -s package-lock.json ] && echo there
du -sh test deploy
shopt -s nullglob; for f in test/*.ts; do echo "$f"; done
shopt -s nullglob; ls test/*.ts
shopt -s globstar; grep -l describe test/**/*.ts
shopt -s globstar nullglob; wc -l src/**/*.ts test/**/*.ts
for f in test/*.test.ts; do npx vitest run "$f"; done
for f in deploy/*.yaml; do kubectl apply --dry-run=client -f "$f"; done
ls test/*.ts | xargs -n1 npx vitest run
find test -name "*.test.ts" | xargs npx eslint
find test -name "*.test.ts" -exec node --test {} +
git diff --name-only | xargs npx prettier --check
python3 -m pytest tests/test_a.py
python3 -m pytest tests/test_a.py::test_one -x
pytest tests/test_a.py -k one
pytest -c tests/pytest.ini tests
pytest --rootdir=. --confcutdir=tests tests
pytest -n 4 --dist=loadfile tests/unit
pytest --junitxml=/tmp/report.xml tests
pytest --cov=src --cov-report=xml:/tmp/cov.xml tests
python3 -m unittest tests/test_a.py
python3 -m unittest discover -s tests
python3 -m doctest tests/docs.txt
python3 tests/run.py
python3 -m compileall tests
python3 -m py_compile tests/test_a.py
python3 -m json.tool tests/fixtures/a.json
python3 -m json.tool < tests/fixtures/a.json
python3 -c "import json; print(json.load(open('tests/fixtures/a.json')))"
python3 -c "print(open('deploy/prod.yaml').read())"
python3 scripts/validate.py deploy/prod.yaml
python scripts/lint_migrations.py migrations/0001_init.sql
tox -e py312 -- tests/test_a.py
nox -s tests -- tests/test_a.py
coverage run -m pytest tests
coverage run tests/run.py
mypy src tests
pyright tests/test_a.py
pylint tests/test_a.py
flake8 tests
bandit -r tests
pydocstyle tests
vulture src tests
ruff check tests
ruff check tests/test_a.py --output-format=github
black --check tests
black --diff tests/test_a.py
isort --check-only tests
isort -c tests/test_a.py
uv run pytest tests/test_a.py
uv run --with hypothesis pytest tests
uv pip compile requirements.in
uv lock --check
uvx ruff check tests
poetry run pytest tests/test_a.py
poetry check --lock
pdm run pytest tests
hatch run test tests/test_a.py
pipenv run pytest tests
pip install -r tests/requirements.txt
pip install -r requirements.txt -c tests/constraints.txt
pre-commit run --files tests/test_a.py
pre-commit run --all-files
python3 manage.py test tests
python3 manage.py migrate
python3 manage.py makemigrations --check
python3 manage.py sqlmigrate app 0001
python3 manage.py loaddata tests/fixtures/a.json
alembic upgrade head
alembic history
alembic check
django-admin check
flask run
uvicorn app:app --reload
gunicorn -c deploy/gunicorn.py app:app
celery -A app worker
jupyter nbconvert --to script tests/a.ipynb --stdout
sphinx-build docs docs/_build
mkdocs serve
hypothesis write src.lib
locust -f tests/locustfile.py --headless
behave tests/features
robot tests/robot
go test ./...
go test ./test/...
go test -run TestA ./test/integration
go vet ./test/...
go test -v test/a_test.go
go run ./test/helper
go build -o /tmp/app ./cmd/app
go test -c -o /tmp/t ./test/...
golangci-lint run ./test/...
staticcheck ./test/...
gofmt -l test
gofmt -d test/a_test.go
gotestsum -- ./test/...
ginkgo test/integration
govulncheck ./...
migrate -path migrations -database "$DB" up
goose -dir migrations status
sqlc vet
buf lint
cargo test --test integration
cargo test --manifest-path tests/Cargo.toml
cargo nextest run
cargo clippy --tests
cargo fmt --check
rustfmt --check tests/a.rs
cargo run -- tests/fixtures/a.json
cargo bench
cargo audit -f Cargo.lock
cargo tree --locked
cargo deny check
cargo metadata --format-version 1
cargo insta test
trybuild tests
mvn -q test -Dtest=ATest
mvn -pl api -am verify
mvn -f tests/pom.xml test
./mvnw -q verify
gradle test --tests "a.b.CTest"
./gradlew :api:test --tests "*CTest"
javac -d /tmp/out test/A.java
java -cp /tmp/out org.junit.runner.JUnitCore A
java -jar tool.jar validate deploy/prod.yaml
kotlinc test/a.kt -d /tmp/a.jar
ktlint "test/**/*.kt"
checkstyle -c checks.xml test/A.java
spotbugs test
sbt "testOnly *ASpec"
scalafmt --check test
dotnet test test/App.Tests/App.Tests.csproj
dotnet test --filter "Name~A" test/App.Tests
dotnet build test/App.Tests
dotnet format --verify-no-changes
rspec spec/a_spec.rb
rspec spec/a_spec.rb:12
bundle exec rspec spec/models spec/a_spec.rb:3
bundle exec rake test TEST=test/a_test.rb
bundle exec rubocop spec
bundle exec rails test test/models/a_test.rb
bin/rails test test/models/a_test.rb:10
bin/rspec spec/a_spec.rb
ruby -Itest test/a_test.rb
ruby -c spec/a_spec.rb
rake test TEST=test/a_test.rb
rails db:migrate:status
bundle exec brakeman
standardrb spec
phpunit test/ATest.php
vendor/bin/phpunit tests/ATest.php --filter testA
vendor/bin/pest tests/Unit
vendor/bin/phpstan analyse src tests
vendor/bin/psalm tests/ATest.php
vendor/bin/php-cs-fixer fix --dry-run --diff tests
php -l tests/ATest.php
php artisan test tests/Feature/ATest.php
php tests/run.php
composer validate --no-check-lock
composer test -- tests/ATest.php
mix test test/a_test.exs
mix test test/a_test.exs:12
mix format --check-formatted test/a_test.exs
elixir test/run.exs
swift test --filter ATests
xcodebuild test -scheme App
flutter test test/a_test.dart
dart test test/a_test.dart
dart analyze test
lein test
clj -M:test
stack test
cabal test
zig test test/a.zig
zig build test
ctest --test-dir build -R a
cmake --build build --target test
make test TESTS=test/a.test.ts
make check TEST=tests/test_a.py
make -n deploy
make -f test/Makefile
ninja -C build test
meson test -C build
bazel test //test/...
just test test/a.test.ts
task test -- test/a.test.ts
gcc -o /tmp/t test/a.c src/a.c
g++ -std=c++20 -Isrc test/a.cpp -o /tmp/t
clang -fsyntax-only test/a.c
clang-tidy test/a.cpp
cppcheck test
clang-format --dry-run -Werror test/a.cpp
valgrind ./build/test/a
gdb -batch -ex run ./build/a
./scripts/test.sh test/a.test.ts
./run-tests.sh tests/test_a.py
bash scripts/check.sh test/a.test.ts
sh test/run.sh
bash -n .github/scripts/deploy.sh
bash -x test/e2e.sh
bats test/a.bats
shellcheck test/e2e.sh .github/scripts/deploy.sh
shfmt -d test/e2e.sh
actionlint .github/workflows/ci.yml
act -W .github/workflows/ci.yml -n
act -j test -W .github/workflows/ci.yml
zizmor .github/workflows
yamllint .github deploy
check-jsonschema --schemafile s.json deploy/prod.yaml
hadolint deploy/Dockerfile
docker build -f deploy/Dockerfile .
docker build -t app -f deploy/Dockerfile --target test .
docker compose -f deploy/compose.yaml config
docker compose -f deploy/compose.yaml up -d db
docker compose -f test/compose.yaml run --rm test pytest tests/test_a.py
docker run --rm -v "$PWD/test":/test app pytest /test
docker run --rm -v ./test:/test:ro app
docker run --rm -v "$PWD":/w -w /w node:20 npx vitest run test/a.test.ts
docker exec web npx vitest run test/a.test.ts
docker-compose -f deploy/compose.yaml ps
docker cp web:/app/log.txt /tmp/log.txt
docker cp test/fixtures/a.json web:/tmp/a.json
podman build -f deploy/Dockerfile .
kubectl apply -f deploy/prod.yaml
kubectl apply --dry-run=server -f deploy/
kubectl diff -f deploy/prod.yaml
kubectl get -f deploy/prod.yaml -o yaml
kubectl kustomize deploy
kustomize build deploy/overlays/prod
kubeconform deploy/prod.yaml
kube-linter lint deploy
helm lint deploy/chart
helm template x deploy/chart -f deploy/values.yaml
helm upgrade --install x deploy/chart --dry-run
skaffold diagnose -f deploy/skaffold.yaml
terraform -chdir=deploy plan
terraform -chdir=deploy validate
terraform fmt -check deploy
terraform plan -var-file=deploy/prod.tfvars
tflint --chdir=deploy
tofu -chdir=deploy plan
checkov -d deploy
trivy config deploy
conftest test deploy/prod.yaml
ansible-playbook --check -i deploy/hosts deploy/site.yml
ansible-lint deploy/site.yml
packer validate deploy/image.pkr.hcl
pulumi preview -C deploy
aws cloudformation validate-template --template-body file://deploy/stack.yaml
aws s3 cp deploy/prod.yaml s3://bucket/
cfn-lint deploy/stack.yaml
gcloud builds submit --config deploy/cloudbuild.yaml
az deployment group validate -f deploy/main.bicep
nginx -t -c deploy/nginx.conf
promtool check config deploy/prometheus.yml
caddy validate --config deploy/Caddyfile
psql -f migrations/0001_init.sql
psql "$DATABASE_URL" -f migrations/0001_init.sql
psql -c "\d users"
mysql app < migrations/0001_init.sql
sqlite3 /tmp/test.db < migrations/0001_init.sql
sqlite3 /tmp/test.db ".read migrations/0001_init.sql"
sqlite3 /tmp/test.db -init migrations/0001_init.sql ""
flyway -locations=filesystem:migrations info
dbmate -d migrations status
atlas migrate lint --dir file://migrations
sqlfluff lint migrations/0001_init.sql
liquibase --changelog-file=migrations/x.xml status
ssh -i ~/.ssh/id_rsa host uptime
scp -i ~/.ssh/id_rsa dist/main.js host:/srv
ssh-add ~/.ssh/id_rsa
ssh-keygen -lf ~/.ssh/id_rsa.pub
openssl x509 -in certs/ca.crt -noout -text
curl --cacert certs/ca.crt https://localhost:3000
curl -F file=@test/fixtures/a.json http://localhost:3000
curl -d @test/fixtures/a.json http://localhost:3000
curl --data-binary @deploy/prod.yaml http://localhost:3000
http POST localhost:3000 < test/fixtures/a.json
http POST localhost:3000 @test/fixtures/a.json
grpcurl -d @ localhost:3000 a.B/C < test/fixtures/a.json
k6 run test/load.js
ab -n 10 -c 2 http://localhost:3000/
hurl --test test/api.hurl
newman run test/collection.json
artillery run test/load.yml
code test/a.test.ts
code --diff test/a.test.ts src/index.ts
open docs/adr/0001.md
xdg-open test/report.html
vale docs/adr/0001.md
lychee docs/adr/0001.md
pandoc docs/adr/0001.md -t plain
wkhtmltopdf docs/adr/0001.md /tmp/a.pdf
cloc src test
tokei test
scc test
ast-grep -p 'it($A)' test
semgrep --config auto test
comby -matcher .ts 'it(:[a])' '' test/a.test.ts -stdout
difft test/a.test.ts test/b.test.ts
delta test/a.test.ts test/b.test.ts
hyperfine "node test/bench.js"
entr -c npx vitest run test/a.test.ts
watchexec -w test -- npx vitest run
nodemon --watch test src/index.js
time npx vitest run test/a.test.ts
timeout 120 npx vitest run test/a.test.ts
nice -n 10 npx jest test/a.test.ts
env CI=1 npx jest test/a.test.ts
NODE_OPTIONS=--max-old-space-size=4096 npx jest test/a.test.ts
TEST_FILE=test/a.test.ts npm test
FIXTURE=test/fixtures/a.json node src/index.js
CONFIG=deploy/prod.yaml npm run check-config
PYTHONPATH=tests pytest tests
GIT_PAGER=cat git log -p -- test/a.test.ts
xargs -a test/list.txt npx vitest run
parallel npx vitest run ::: test/a.test.ts test/b.test.ts
npx vitest run test/a.test.ts > /tmp/out.txt 2>&1; tail -30 /tmp/out.txt
npx vitest run test/a.test.ts 2>&1 | tee /tmp/out.txt | tail
cat test/a.test.ts | npx prettier --stdin-filepath test/a.test.ts
cat test/a.test.ts | wc -l
echo "test/a.test.ts passes"
echo "see deploy/prod.yaml" >> notes.md
printf 'Check %s\n' test/a.test.ts
sed -i 's/a/b/' src/index.ts && npx vitest run test/a.test.ts
node -e "console.log(require('./test/fixtures/a.json'))"
node -e "const fs=require('fs'); console.log(fs.readFileSync('test/a.test.ts','utf8').length)"
node -p "require('./package-lock.json').lockfileVersion"
ruby -ryaml -e "puts YAML.load_file('deploy/prod.yaml')"
perl -ne 'print if /it\(/' test/a.test.ts
php -r "echo file_get_contents('deploy/prod.yaml');"
deno run --allow-read=test test/run.ts
tmux send-keys -t 1 "npx vitest run test/a.test.ts" Enter
claude -p "review test/a.test.ts"
notify-send "test/a.test.ts passed"
bd create "Fix test/a.test.ts"
jira issue create -s "deploy/prod.yaml is wrong"
logger "test/a.test.ts is done"
say "tests in test/a.test.ts pass"
bru run test/fixtures/a.json
maestro test test/e2e.sh
plantuml docs/adr/0001.md
mmdc -i docs/adr/0001.md -o /tmp/x.svg
vegeta attack -targets=test/list.txt
wrk -s test/load.js http://localhost:3000
ghz --config test/fixtures/a.json localhost:3000
inspec exec test/e2e.sh
swagger-cli validate deploy/values.yaml
protolint test
jsonnet deploy/values.yaml
cue eval deploy/values.yaml
ytt -f deploy
kapp deploy -a x -f deploy/prod.yaml
argo lint deploy/prod.yaml
flux diff kustomization x --path deploy
kubectl delete -f deploy/prod.yaml
kubectl set image -f deploy/prod.yaml a=b --local -o yaml
kubectl edit -f deploy/prod.yaml
kubectl replace -f deploy/prod.yaml
sops -d deploy/values.yaml
sops decrypt deploy/values.yaml
envsubst < deploy/prod.yaml
nomad plan deploy/prod.yaml
terragrunt plan --terragrunt-working-dir deploy
infracost breakdown --path deploy
syft dir:deploy
grype deploy
xmllint --noout test/fixtures/a.json
tidy -q -e test/fixtures/a.json
pa11y test/fixtures/a.json
csvlook test/fixtures/list.txt
csvstat test/fixtures/list.txt
mlr --icsv --ojson cat test/fixtures/list.txt
xsv stats test/fixtures/list.txt
fx test/fixtures/a.json
gron test/fixtures/a.json
jless test/fixtures/a.json
dasel -f test/fixtures/a.json .a
exiftool test/fixtures/a.bin
identify test/fixtures/a.bin
ffprobe test/fixtures/a.bin
pdftotext test/fixtures/a.bin -
tesseract test/fixtures/a.bin stdout
objdump -d test/fixtures/a.bin
nm test/fixtures/a.bin
readelf -h test/fixtures/a.bin
inotifywait -m test
fswatch test
ipython test/run.ts
gojq . test/fixtures/a.json
clickhouse local --file test/fixtures/list.txt
datasette test/fixtures/a.bin
mongoimport --file test/fixtures/a.json
kcat -P -t x test/fixtures/a.json
mosquitto_pub -f test/fixtures/a.json
websocat ws://localhost < test/fixtures/a.json
tshark -r test/fixtures/a.bin
tcpreplay test/fixtures/a.bin
verilator --lint-only test/load.js
lean test/load.js
ocaml test/load.js
dune test test
nim c -r test/load.js
racket test/load.js
sbcl --script test/load.js
emacs --batch -l test/load.js
guile test/load.js
octave test/load.js
gfortran test/load.js -o /tmp/x
tclsh test/load.js
pwsh -File test/load.js
prove test/load.js
convert test/fixtures/a.bin -resize 50% /tmp/a.png
ffmpeg -i test/fixtures/a.bin /tmp/a.mp4
sox test/fixtures/a.bin -n stat
wkhtmltopdf docs/adr/0001.md /tmp/x.pdf
pre-commit run --files test/a.test.ts
zizmor .github/workflows
clang-format test/load.js
yapf -d tests/test_a.py
shfmt test/e2e.sh
goimports -l test
terraform fmt -check=true deploy
nbqa mypy tests/test_a.py
lefthook run pre-commit --files test/a.test.ts
watchexec -w test -- pytest
air -c test/list.txt
reflex -r test -- go test
mprocs --config test/list.txt
overmind start -f deploy/values.yaml
honcho -f deploy/values.yaml check
supervisord -c deploy/values.yaml
haproxy -c -f deploy/values.yaml
envoy --mode validate -c deploy/values.yaml
traefik --configFile=deploy/values.yaml
vector validate deploy/values.yaml
fluent-bit -c deploy/values.yaml --dry-run
telegraf --config deploy/values.yaml --test
openssl verify certs/ca.crt
step certificate inspect certs/ca.crt
keytool -printcert -file certs/ca.crt
certtool -i < certs/ca.crt
git-lfs ls-files
lazygit -p .
tig test/a.test.ts
jj diff test/a.test.ts
hg diff test/a.test.ts
svn diff test/a.test.ts
patchutils test
interdiff test/a.test.ts test/b.test.ts
meld test/a.test.ts test/b.test.ts
ctags -R --exclude=test .
cscope -b test/load.js
doxygen deploy/values.yaml
sphinx-autobuild docs /tmp/x
antora test/list.txt
bundletool dump test/fixtures/a.bin
adb install test/fixtures/a.bin
xcrun simctl install booted test/fixtures/a.bin
fastlane test
`
    .trim()
    .split('\n'),
  "python3 - <<'PY'\nimport json\nprint(json.load(open('package-lock.json'))['name'])\nPY",
];
