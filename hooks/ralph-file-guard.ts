export * from '../src/guard/file-judges.ts';
