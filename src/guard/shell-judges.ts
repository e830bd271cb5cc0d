export { judgeEvidence } from './commands/evaluate-rules.ts';
export { judgePowerShell } from './evaluate-powershell.ts';
export { judgeShellCommand } from './evaluate-shell-command.ts';
