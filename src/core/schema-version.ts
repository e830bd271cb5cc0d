/** The state file's own version. A file with a larger number belongs to a newer program and is left untouched. */
export const SCHEMA_VERSION = 1;
