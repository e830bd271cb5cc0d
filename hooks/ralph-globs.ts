export * from '../src/guard/files/picomatch-glob.ts';
