export { keepCode, type Uncached } from '../src/state/process/code-cache.ts';
