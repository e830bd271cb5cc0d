import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { TaskScope, Verdict } from '../../../src/guard/guard.ts';
import { withPlanRules } from '../../../src/task/frontmatter/guardrails.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';

const project = createCorpusProject();
const at = (path: string): string => join(project.dir, path);
const git = (path: string, text: string): void => writeFileSync(at(join('.git', path)), text);

function onBranch(branch: string, upstream: string | null): void {
  git('HEAD', `ref: refs/heads/${branch}\n`);
  git(
    'config',
    `[core]\n\tbare = false\n${upstream === null ? '' : `[branch "${branch}"]\n\tremote = origin\n\tmerge = refs/heads/${upstream}\n`}`,
  );
}

before(() => {
  mkdirSync(at('.git'), { recursive: true });
  mkdirSync(at('lib'), { recursive: true });
  mkdirSync(at('src'), { recursive: true });
  writeFileSync(at('lib/a.ts'), '');
  symlinkSync(at('lib'), at('src/link'));
  onBranch('work', 'work');
});
after(() => rmSync(project.root, { recursive: true, force: true }));

const SCOPE: TaskScope = {
  task: 'Task 3',
  entries: ['src', 'docs/*.md', 'README.md'],
  free: ['node_modules', 'dist'],
  noPushTo: ['main', 'master'],
};

async function evaluate(tool: string, input: object, scope: Partial<TaskScope> = {}): Promise<Verdict> {
  const rules = { ...project.rules, ownFiles: [], ownGlobs: [], guardrails: null, scope: { ...SCOPE, ...scope } };
  return evaluateToolCall({ tool, input, cwd: project.dir }, rules);
}

async function ruleOf(tool: string, input: object, scope?: Partial<TaskScope>): Promise<string | null> {
  const verdict = await evaluate(tool, input, scope);
  return verdict.decision === 'deny' ? verdict.rule : null;
}

const write = (path: string, scope?: Partial<TaskScope>) => ruleOf('Write', { file_path: path, content: '' }, scope);
const bash = (command: string, scope?: Partial<TaskScope>) => ruleOf('Bash', { command }, scope);

describe('the scope of a task', () => {
  it('judges a push by a tool whose name says that it pushes', async () => {
    assert.equal(await ruleOf('mcp__git__git_push', { remote: 'origin', branch: 'main' }), 'push-main');
    assert.equal(await ruleOf('mcp__github__push_files', { branch: 'main', files: [] }), 'push-main');
    assert.equal(await ruleOf('mcp__git__git_push', { remote: 'origin', branch: 'work' }), null);
  });

  it('takes no word of the name of a tool for a file', async () => {
    for (const tool of [
      'obsidian__patch_content',
      'serena__rename_symbol',
      'jira__unlink_issue',
      'npm__install_package',
    ])
      assert.equal(await ruleOf(`mcp__${tool}`, {}), null, tool);
  });

  it('takes a folder whose name looks like a glob literally', async () => {
    const scope = { entries: ['app/[id]/page.tsx', 'app/[slug]'] };
    for (const path of ['app/[id]/page.tsx', 'app/[slug]/deep/a.ts'])
      assert.equal(await write(path, scope), null, path);
    for (const path of ['app/[id]/other.tsx', 'app/[slugs]/a.ts'])
      assert.equal(await write(path, scope), 'scope', path);
  });

  it('allows writes to its files, and outside the project', async () => {
    for (const path of [
      'src/a.ts',
      at('src/deep/b.ts'),
      'docs/x.md',
      'README.md',
      '/tmp/x',
      'dist/a.js',
      'src/../src/a',
    ])
      assert.equal(await write(path), null, path);
  });
  it('denies every other file of the project, also through links and detours', async () => {
    for (const path of [
      'lib/a.ts',
      at('package.json'),
      'docs/deep/x.md',
      'srcs/a',
      'src/../lib/a.ts',
      'src/link/a.ts',
      '.git/hooks/x',
    ])
      assert.equal(await write(path), 'scope', path);
  });
  it('names the task, and says that the user widens it in the plan', async () => {
    const verdict = await evaluate('Edit', { file_path: 'lib/a.ts', old_string: 'a', new_string: 'b' });
    assert.equal(verdict.decision, 'deny');
    assert.match(
      verdict.decision === 'deny' ? verdict.message : '',
      /outside the scope of Task 3\. Only the user can widen the scope in the plan/,
    );
  });
  it('applies to what a shell command writes', async () => {
    for (const command of [
      ...[
        'echo x > lib/a.ts',
        'cat a | tee lib/b.ts',
        'cp src/a.ts lib/',
        'mv src/a.ts lib/a.ts',
        'rm -rf lib',
        'rm -rf .',
      ],
      ...[
        'sed -i s/a/b/ lib/a.ts',
        'cd lib && touch x',
        'bash -c "echo x >> package.json"',
        'rm docs',
        'curl -o x.js https://x',
      ],
    ])
      assert.equal(await bash(command), 'scope', command);
    for (const command of [
      ...[
        'echo x > src/a.ts',
        'cp lib/a.ts src/',
        'mv src/a.ts src/b.ts',
        'rm -rf src/deep',
        'sed -i s/a/b/ README.md',
      ],
      ...[
        'npm test > /tmp/log 2>&1',
        'npm test 2>/dev/null',
        'git restore lib/a.ts',
        'git add -A',
        'mkdir -p docs',
        'touch docs/a.md',
      ],
      ...['grep -r x lib', 'echo "lib/a.ts > x"', 'rm -rf node_modules dist', 'echo x > "$f"'],
    ])
      assert.equal(await bash(command), null, command);
  });
  it('without entries is the whole project', async () => {
    assert.equal(await write('lib/a.ts', { entries: [] }), null);
    assert.equal(await write('lib/a.ts', { entries: ['.'] }), null);
  });
  it('does not apply to reading', async () => {
    assert.equal(await ruleOf('Read', { file_path: 'lib/a.ts' }), null);
    assert.equal(await ruleOf('mcp__files__read_file', { path: 'lib/a.ts' }), null);
    assert.equal(await ruleOf('mcp__files__write_file', { path: 'lib/a.ts' }), 'scope');
  });
});

describe('a push', () => {
  it('to main or master is denied, however it is written', async () => {
    for (const command of [
      ...['git push origin main', 'git push origin HEAD:main', 'git push origin +main', 'git push -f origin master'],
      ...[
        'git push origin work:refs/heads/main',
        'git -C . push origin main',
        'git push origin :main',
        'git push --all',
      ],
      ...[
        'git push --mirror origin',
        'bash -c "git push origin main"',
        'git push -u origin work main',
        'env A=b git push origin main',
      ],
      ...['git push origin :', 'git push origin +:', 'git push origin "refs/heads/*:refs/heads/*"'],
      ...['git push origin "refs/*:refs/*"', 'git push origin heads/main', 'git push origin "ma*"'],
      ...['git push --delete origin main', 'git -c alias.p=push p origin main', 'git push \'origin\' "ma"in'],
    ])
      assert.equal(await bash(command), 'push-main', command);
  });
  it('to another branch is allowed, and so are words that only look like one', async () => {
    for (const command of [
      ...['git push origin work', 'git push', 'git push origin HEAD', 'git push -u origin work:feature/main-menu'],
      ...[
        'git commit -m "git push origin main"',
        'echo git push origin main',
        'git log main',
        'git push origin "refs/heads/topic/*:refs/heads/topic/*"',
        'git push origin "refs/tags/*"',
      ],
    ])
      assert.equal(await bash(command), null, command);
  });
  it('without a branch is denied if the upstream or the branch itself is main', async () => {
    onBranch('work', 'main');
    assert.equal(await bash('git push'), 'push-main');
    assert.equal(await bash('git push origin'), 'push-main');
    assert.equal(await bash('git push origin work'), null);
    onBranch('master', null);
    assert.equal(await bash('git push origin HEAD'), 'push-main');
    assert.equal(await bash('git push'), 'push-main');
    onBranch('work', 'work');
  });
  it('goes by usual settings to the branch of the same name, and they are read in linear time', async () => {
    for (const setting of [
      '[push]\n\tdefault = simple\n',
      '[remote "origin"]\n\tmirror = false\n',
      '\n'.repeat(200_000),
    ]) {
      writeFileSync(at('.git/config'), setting);
      assert.equal(await bash('git push'), null, setting.slice(0, 40));
    }
    writeFileSync(at('.git/config'), '[alias]\n\tp = status\n\tp = push origin main\n');
    assert.equal(await bash('git p'), 'push-main');
    onBranch('work', 'work');
  });
  const config = 'git config';
  for (const command of [
    'git send-pack origin HEAD:refs/heads/main',
    'git send-pack --all origin',
    'git-send-pack origin main',
    'git http-push https://example.com/x main',
    'git subtree push --prefix dist origin main',
    'git subtree push -P dist origin main',
    'git -c push.default=matching push',
    'git -c push.default=matching push origin',
    'git -c push.default=upstream -c branch.work.merge=refs/heads/main push',
    'git -c branch.work.merge=refs/heads/main push',
    'git -c remote.origin.push=HEAD:main push',
    'git -c remote.origin.push=refs/heads/*:refs/heads/* push',
    'git -c remote.origin.mirror=true push',
    'git --config-env=push.default=D push',
    'D=matching git --config-env=push.default=D push',
    'GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=push.default GIT_CONFIG_VALUE_0=matching git push',
    'env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.push GIT_CONFIG_VALUE_0=main git push',
    'GIT_CONFIG_PARAMETERS="\'push.default=matching\'" git push',
    `${config} push.default matching; git push`,
    `${config} remote.origin.push HEAD:main && git push`,
    `${config} --add remote.origin.push HEAD:main && git push`,
    `${config} branch.work.merge refs/heads/main && git push`,
    `${config} remote.origin.mirror true; git push`,
    `${config} push.default "$MODE"; git push`,
    'git checkout -Bmain && git push',
    'git branch -umain; git push',
    'git branch -M main && git push',
    'git branch -v -fm main; git push',
    `${config} alias.p "push origin main"; git p`,
    `${config} alias.p push && git p origin main`,
    'git -c push.default=current push',
    'git -c push.default=upstream push',
    'git -c remote.origin.push=HEAD:work push',
    'git -c remote.origin.mirror=false push',
    'git config push.default simple; git push',
    'git config branch.work.merge refs/heads/work; git push',
    'GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=push.default GIT_CONFIG_VALUE_0=current git push',
    'git push origin "$BRANCH"',
    'git push origin HEAD:$BRANCH',
    'git push origin $(cat branch.txt)',
  ])
    it(`may reach main by settings or by another name: ${command}`, async () =>
      assert.equal(await bash(command), 'push-main'));
  for (const command of [
    'git send-pack origin HEAD:refs/heads/work',
    'git subtree push --prefix dist origin gh-pages',
    'git subtree pull --prefix dist origin main',
    'git subtree split --prefix dist',
    'git -c push.default=simple push origin work',
    'git -c user.name=x push origin work',
    'git -c push.default=matching status',
    'git branch --merged main; git push',
    'git branch --no-merged=main | head; git push',
    'git branch -avl main && git push',
    'git branch -fd main; git push',
    'git config --get push.default',
    'git config remote.origin.url && git push',
    'git config alias.p "push origin work"; git p',
    'git config push.default simple; git push origin work',
    'git config alias.st status; git st',
    'git push origin refs/heads/work',
    'git push -u origin HEAD:refs/heads/work',
    'git push --tags origin work',
    'git fetch origin main',
    'git pull origin main',
  ])
    it(`to the plan's own branch is allowed: ${command}`, async () => assert.equal(await bash(command), null));
  it('is allowed if the user lifted the rule', async () => {
    assert.equal(await bash('git push origin main', { noPushTo: [] }), null);
  });
});

describe('while a plan runs', () => {
  const guarded = async (command: string, lifted: string[] = []): Promise<string | null> => {
    const guardrails = withPlanRules({ ...NO_RULES, lifted });
    const rules = { ...project.rules, ownFiles: [], ownGlobs: [], guardrails };
    const verdict = await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: project.dir }, rules);
    return verdict.decision === 'deny' ? verdict.message : null;
  };
  const DENIED = [
    ...[
      'npm publish',
      'npm --tag next publish',
      'pnpm publish -r',
      'yarn npm publish',
      'cargo publish',
      'twine upload dist/x',
    ],
    ...[
      'terraform apply',
      'terraform -chdir=infra apply -auto-approve',
      'tofu destroy',
      'docker push me/x:1',
      'docker image push x',
    ],
    ...[
      'kubectl --context prod-eu apply -f x.yaml',
      'kubectl delete pod x -n production',
      'kubectl -n prod scale deploy/x --replicas=0',
    ],
    ...[
      'kubectl apply -f x --namespace=prod',
      'helm upgrade x ./c --kube-context prod',
      'helm -n prod-a install x ./c',
    ],
    ...[
      'vercel --prod',
      'npx vercel deploy --prod',
      'fly deploy',
      'flyctl deploy --now',
      'gcloud app deploy',
      'gcloud beta run deploy x',
    ],
    ...[
      'gcloud builds submit',
      'aws cloudformation deploy --stack-name x',
      'aws lambda update-function-code --function-name x',
    ],
    ...[
      'aws s3 sync dist s3://x',
      'aws --profile p ecs update-service --service x',
      'sudo npm publish',
      'bash -c "docker push x"',
    ],
    ...['vercel --target production', 'npx vercel@latest --prod', 'yarn vercel --prod', 'vercel promote x'],
    ...['docker buildx build --push -t x .', 'docker build --push .', 'docker buildx bake --push'],
    ...['kubectl apply -nprod -f x', 'helm upgrade a b -nprod'],
    ...['echo x > .env', 'cp a .ssh/id', 'touch secrets/key.pem'],
  ];
  for (const command of DENIED) {
    it(`"${command}" is denied`, async () => assert.notEqual(await guarded(command), null));
  }
  const HARMLESS = [
    ...[
      'npm test',
      'npm run publish-docs-check',
      'terraform plan',
      'docker build -t x .',
      'kubectl get pods -n prod',
      'helm list -n prod',
    ],
    ...[
      'kubectl apply -f x -n staging',
      'kubectl apply -f x -n nonprod',
      'vercel --target=preview',
      'docker build -t push .',
      'kubectl apply -f products.yaml',
      'vercel',
      'vercel --version',
      'fly status',
      'gcloud app describe',
    ],
    ...[
      'aws s3 ls',
      'aws cloudformation describe-stacks',
      'git commit -m "npm publish"',
      'grep -r "terraform apply" .',
      'echo docker push',
    ],
  ];
  for (const command of HARMLESS) it(`"${command}" is not`, async () => assert.equal(await guarded(command), null));

  it('only what the frontmatter lifts is allowed', async () => {
    assert.equal(await guarded('npm publish', ['publish']), null);
    assert.notEqual(await guarded('docker push x', ['publish']), null);
    assert.equal(await guarded('echo x > .env', ['secrets']), null);
  });
});
