import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FLEET_FILE } from '../../install/files/program-files.ts';
import { bundleDir } from '../../install/project-files.ts';
import { advise, RalphError } from '../../text/message.ts';
import { type Command, type CommandContext, options } from '../command.ts';

/** Options with the actions that have them, and their help. */
const TABLE: Readonly<Record<string, readonly [actions: string, help: string]>> = {
  'repo URL...': ['add, worker, doctor', 'the repository; of a worker: all it serves.'],
  'base REF': ['add', 'branch, tag or commit to start from (main).'],
  'after ID...': ['add', 'start once this loop is complete.'],
  'label NAME...': ['add', 'run only on a worker with this label.'],
  'integrate HOW': ['add', 'none, branch or pr (branch).'],
  'account NAME': ['add, worker', 'name of the account that pays (default).'],
  'take-overs N': ['add', 'deaths of workers in a row to tolerate (5).'],
  'arg NAME=VALUE...': ['add', 'value of an argument of the task.'],
  'agent CMD': ['add', 'another command-line agent.'],
  'max-iterations N': ['add', 'limit of iterations.'],
  'max-time DURATION': ['add', 'limit of total time, such as 8h.'],
  'max-cost DOLLARS': ['add, worker', 'limit of the loop, or of all loops.'],
  'max-tokens N': ['add, worker', 'the same limit in tokens.'],
  'permission-mode MODE': ['add', "the client's mode; required without --agent."],
  'model NAME': ['add', "the client's model."],
  'set KEY=VALUE...': ['add', 'any frontmatter setting.'],
  yes: ['add', 'agree to settings that start programs.'],
  'slots N': ['worker', 'loops at once; default: a third of the cores.'],
  'labels A,B': ['worker', 'labels of this machine.'],
  'dir DIR': ['add, worker, doctor', 'folder for repositories.'],
  'f, follow': ['logs', 'keep printing until Ctrl+C.'],
  activity: ['logs', 'also print what agents, tools and checks did.'],
  all: ['status', 'show every loop, ended ones too.'],
  'port N': ['dashboard', 'listen on this port; default: any free one.'],
  open: ['dashboard', 'open the page in the browser.'],
  'read-only': ['dashboard', 'show loops without any controls.'],
  requeue: ['doctor', 'requeue lost loops of --repo, or the loop ID.'],
};
const ROWS = Object.entries(TABLE).map(([key, [actions, help]]) => {
  return { actions, option: options({ [key]: `${actions}: ${help}` }) };
});

export const FLEET_COMMAND: Command = {
  name: 'fleet',
  usage: 'ACTION [ID | TASK...] [options]',
  help: 'worker runs loops on this machine, and add TASK queues a task of a repository. status [ID], logs ID, dashboard and doctor show the fleet; steer ID "TEXT", pause ID, resume ID, cancel ID and retry ID control a loop. RALPH_FLEET_URL names the Redis server, RALPH_FLEET_KEY the key that all members share.',
  example: 'ralph-loop fleet add tasks/docs --repo git@host:me/app.git --base main',
  options: Object.assign({}, ...ROWS.map(({ option }) => option)),
  control: true,
  async run(context) {
    refuseForeign(context);
    const { runFleet } = await import('./run-fleet.ts').catch(noFleet);
    return runFleet(context);
  },
};

/** Refuses an option of another action, which would have no effect: `worker --label gpu`. Throws `usage`. */
function refuseForeign({ values, positionals: [action = ''] }: CommandContext): void {
  for (const { actions, option } of ROWS) {
    const [name = ''] = Object.keys(option);
    if (action === '' || values[name] === undefined || actions.split(', ').includes(action)) continue;
    const said = `fleet ${action} has no option --${name}, which belongs to fleet ${actions}.`;
    throw new RalphError('usage', advise(said, 'Help', 'fleet --help'));
  }
}

/** Explains why the fleet's code is missing: the copy that `init` puts into a project does not contain it. Throws. */
function noFleet(error: Error): never {
  if (existsSync(join(bundleDir(), 'scripts', FLEET_FILE))) throw error;
  const why = 'the copy of ralph-loop in this project has no fleet, but the npm package and the plugin have it.';
  throw new RalphError('usage', `${why} Install one of these and call its ralph-loop.`, error);
}
