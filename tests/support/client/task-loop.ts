import type { RunStatus, TaskIterationRecord } from '../../../src/engine/schema/records.ts';
import { runStatus, taskIterationRecord } from '../../../src/engine/schema/records.ts';
import type { Script } from '../model/scripted-model.ts';
import type { LauncherOptions, LauncherRun, LoopProject, LoopProjectOptions, RunningLauncher } from './loop-project.ts';
import { inLoopProject } from './loop-project.ts';
import type { Workspace } from './workspace.ts';

export type TaskLoopOptions = Omit<LoopProjectOptions, 'frontmatter' | 'body' | 'loop'> & {
  /** The whole RALPH.md. */
  readonly ralph: string;
  /** Relative to the project; default `my-task`. Its last part is the loop's name. */
  readonly folder?: string;
};

export type TaskLoop = {
  readonly project: LoopProject;
  readonly workspace: Workspace;
  readonly folder: string;
  /** A path within the task folder, relative to the project. */
  readonly inside: (path: string) => string;
  /** The launcher with `--headless --task FOLDER`, run to its end. */
  readonly run: (options?: LauncherOptions) => Promise<LauncherRun>;
  readonly start: (options?: LauncherOptions) => RunningLauncher;
  /** What each of the main agent's requests added to the conversation, without what the client says of itself. */
  readonly told: () => string[];
  /** Lines of the task folder's iterations.jsonl, each of the published form. */
  readonly records: () => TaskIterationRecord[];
  /** The task folder's status.json, of the published form. */
  readonly status: () => RunStatus;
  readonly transcript: (name: string) => string;
};

const withoutClient = (told: string): string =>
  told
    .replace(/<system-reminder>[\s\S]*?<\/system-reminder>\n/g, '')
    .replace(/\n# Environment\nYou have been [\s\S]*/, '');

/** The views of one task folder in a project. */
export const taskLoop = (project: LoopProject, folder: string): TaskLoop => {
  const { workspace } = project;
  const inside = (path: string): string => `${folder}/${path}`;
  const withTask = (options: LauncherOptions = {}): LauncherOptions => ({
    ...options,
    args: ['--task', folder, ...(options.args ?? [])],
  });
  return {
    project,
    workspace,
    folder,
    inside,
    run: (options) => project.run(withTask(options)),
    start: (options) => project.start(withTask(options)),
    told: () => project.model.mainRequests().map(({ sinceText }) => withoutClient(sinceText)),
    records: () =>
      workspace.jsonLines(inside('.ralph-runner/iterations.jsonl')).map((line) => taskIterationRecord.parse(line)),
    status: () => runStatus.parse(workspace.json(inside('.ralph-runner/status.json'))),
    transcript: (name) => workspace.read(inside(`.ralph-runner/transcripts/${name}.md`)),
  };
};

/** A project with one task folder in it and a scripted model, whose every step has to be asked for. */
export const inTaskFolder = async (
  { ralph, folder = 'my-task', files, ...options }: TaskLoopOptions,
  script: Script | ((workspace: Workspace) => Script),
  body: (loop: TaskLoop) => Promise<void>,
): Promise<void> => {
  const all = { ...files, [`${folder}/RALPH.md`]: ralph };
  const loop = folder.slice(folder.lastIndexOf('/') + 1);
  await inLoopProject({ ...options, files: all, loop }, script, async (project) => {
    await body(taskLoop(project, folder));
    project.model.check();
  });
};
