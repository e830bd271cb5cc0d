export * from '../src/guard/shell-judges.ts';
