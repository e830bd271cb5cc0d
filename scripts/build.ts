import { chmodSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { writeSchemas, writeShapes } from './build-shapes.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const generated = join(root, '.build');
/** The bundle under construction: a build that fails leaves the last one as it was. */
const draft = join(generated, 'dist');
const dist = join(root, 'dist');

/** Hooks that a loop's client starts: a small entry for each, and what it loads beside it. */
const CLIENT_HOOKS = [
  ...['ralph-stop-hook', 'pre-tool-use', 'post-tool-use', 'session-start', 'user-prompt-submit', 'stop-failure'],
  'router-tool-use',
];
/** Checks of a host that runs the skill: whole programs, which it calls with or without a loop. */
const HOST_HOOKS = ['pre-execute', 'post-execute'];

/**
 * Modules that become files of their own in dist/hooks, by the name of the file. A hook's `import()` of one loads that
 * file, only where it is needed: the tool hooks never load the engine, nor a Stop the shell parser or Markdown.
 */
const LAZY: Readonly<Record<string, string>> = {
  'hooks/pre-tool-use.ts': mainOf('pre-tool-use'),
  'hooks/post-tool-use.ts': mainOf('post-tool-use'),
  'src/drive/hook/abort-stop.ts': 'ralph-cancel',
  'src/drive/hook/user-prompt-submit.ts': 'ralph-steering',
  'src/drive/plan/plan-task.ts': 'ralph-plan',
  'src/drive/start/start-loop.ts': 'ralph-start',
  'src/drive/status/end-report.ts': 'ralph-report',
  'src/guard/commands/evaluate-rules.ts': 'ralph-evidence-guard',
  'src/guard/evaluate-powershell.ts': 'ralph-powershell-guard',
  'src/guard/evaluate-shell-command.ts': 'ralph-shell-guard',
  'src/guard/files/evaluate-files.ts': 'ralph-file-guard',
  'src/guard/files/picomatch-glob.ts': 'ralph-globs',
  'src/task/commands/gate.ts': 'ralph-gate',
  'src/task/commands/run-evidence.ts': 'ralph-task-commands',
  'src/task/progress/fingerprint.ts': 'ralph-fingerprint',
  'src/guard/scope/evaluate-scope.ts': 'ralph-scope-guard',
};

/** Builds dist/, a folder that works with node alone. */
async function build(): Promise<void> {
  mkdirSync(generated, { recursive: true });
  writeSchemas(join(root, 'schemas'));
  writeShapes(generated);
  rmSync(draft, { recursive: true, force: true });
  await bundle();
  for (const name of ['SKILL.md', 'references', 'skills', 'schemas', 'templates', 'rules', 'LICENSE']) {
    cpSync(join(root, name), join(draft, name), { recursive: true });
  }
  // Each skill has its references in its own folder.
  cpSync(join(root, 'references'), join(draft, 'skills', 'ralph-draft', 'references'), { recursive: true });
  chmodSync(join(draft, 'scripts', 'main.cjs'), 0o755);
  rmSync(dist, { recursive: true, force: true });
  renameSync(draft, dist);
}

/** Ends a hook's process in a session without a loop, before any import and any look at the disk. */
const GUARD = "if(process.env.RALPH_ACTIVE!=='1')process.exit(0);";

const SHARED: esbuild.BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Code that is loaded by vm.Script has no `import()`: it becomes a `require`.
  supported: { 'dynamic-import': false },
  absWorkingDir: root,
  minify: true,
  metafile: true,
  logLevel: 'warning',
  legalComments: 'none',
  outExtension: { '.js': '.cjs' },
};

async function bundle(): Promise<void> {
  const mains = CLIENT_HOOKS.map((name) => [mainOf(name), `hooks/${name}.ts`]);
  const lazy = Object.entries(LAZY).map(([module, name]) => [name, module]);
  const { metafile } = await esbuild.build({
    ...SHARED,
    entryPoints: Object.fromEntries([...mains, ...lazy, ...HOST_HOOKS.map((name) => [name, `hooks/${name}.ts`])]),
    outdir: '.build/dist/hooks',
    plugins: [lazyFiles],
  });
  for (const name of CLIENT_HOOKS) {
    // Registered by the agents of router mode, which themselves say that a loop may run.
    await loader(`hooks/${name}`, mainOf(name), name === 'router-tool-use' ? '' : GUARD);
  }
  await esbuild.build({
    ...SHARED,
    entryPoints: { 'ralph-main': 'scripts/main.ts', statusline: 'scripts/statusline.ts' },
    outdir: '.build/dist/scripts',
  });
  await loader('scripts/main', 'ralph-main', '#!/usr/bin/env node');
  writeFileSync(join(generated, 'meta.json'), JSON.stringify({ hooks: metafile }));
}

/** The file that an entry loads. */
function mainOf(entry: string): string {
  return `ralph-${entry.replace(/^ralph-|-hook$/g, '')}-main`;
}

/** An entry: `banner`, and what loads the file beside it with the code cache. */
async function loader(entry: string, main: string, banner: string): Promise<void> {
  const contents = `import { loadBeside } from './src/state/process/code-cache.ts'; loadBeside('${main}.cjs');`;
  const outfile = `.build/dist/${entry}.cjs`;
  await esbuild.build({ ...SHARED, stdin: { contents, resolveDir: root }, outfile, banner: { js: banner } });
}

/**
 * Turns `import()` of a module in the table into a `require` of its own file, and loads the modules of node that cost a
 * hook 2.5 ms each at the first call of one of their functions.
 */
const lazyFiles: esbuild.Plugin = {
  name: 'lazy-files',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      const name = LAZY[relative(root, join(resolveDir, path)).replaceAll('\\', '/')];
      return kind === 'dynamic-import' && name ? { path: `./${name}.cjs`, external: true } : null;
    });
    onResolve({ filter: /^node:(child_process|crypto)$/ }, ({ path, namespace }) =>
      namespace === 'builtin' ? { path, external: true } : { path, namespace: 'builtin' },
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== 'default');
      const text = names.map((name) => `export const ${name} = (...args) => require('${path}').${name}(...args);`);
      return { contents: text.join('\n') };
    });
  },
};

await build();
