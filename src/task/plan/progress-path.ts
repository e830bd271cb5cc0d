/** The progress file of a plan lies beside it: `plan.md` has `plan.progress.md`. */
export function progressPath(planPath: string): string {
  return `${planPath.replace(/\.(?:md|markdown)$/i, '')}.progress.md`;
}
