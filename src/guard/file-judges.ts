export { judgeShellFiles, judgeToolFiles } from './files/judge-files.ts';
