export { judgeShellFiles, judgeToolFiles } from './files/judge-files.ts';
export { judgeShellScope, judgeToolScope } from './scope/judge-scope.ts';
