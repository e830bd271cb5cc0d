/** What one iteration of a task folder may take where its RALPH.md says nothing. */
export const ITERATION_TIMEOUT_SECONDS = 300;

/** Of a command that names none; less where the iteration itself has less. */
export const COMMAND_TIMEOUT_SECONDS = 60;

/** The loop's own memory: it is shown to the agent and never an output that a gate requires. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';
