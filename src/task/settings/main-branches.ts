/** Branches on which no plan runs, and to which a plan's agent may not push. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];
