export { judgeShellFiles, judgeToolFiles } from './files/evaluate-files.ts';
export { judgeShellScope, judgeToolScope } from './scope/evaluate-scope.ts';
