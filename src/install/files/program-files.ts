/** Files of scripts/ with the program's code that a project's copy has; scripts/build-program.ts says what each contains. */
export const CHUNKS = [
  ...['base', 'tools', 'rules', 'shell', 'hooks', 'session', 'stop', 'common', 'git', 'plan', 'checks'],
  ...['main', 'json', 'show', 'task', 'start', 'commands', 'telemetry', 'rolldown-runtime'],
];
/** Files with the page of report and dashboard, and with the fleet, which only the npm package and the plugin have. */
export const WEB_FILE = 'ralph-web.cjs';
export const FLEET_FILE = 'ralph-fleet.cjs';
