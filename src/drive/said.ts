/** Every line that reaches the user through the client begins so. */
export function said(message: string): string {
  return `ralph: ${message}`;
}

export function nextText(iteration: number, max: number): string {
  return `iteration ${iteration} of ${max}.`;
}

export function failedText(message: string, log: string): string {
  return `the Stop hook failed and let the turn end: ${message} Details: ${log}. The loop is still there: main.cjs status.`;
}
