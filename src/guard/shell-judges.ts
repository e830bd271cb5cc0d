export { judgeEvidence } from './judge-evidence.ts';
export { judgePowerShell } from './judge-powershell.ts';
export { judgeShellCommand } from './judge-shell-command.ts';
