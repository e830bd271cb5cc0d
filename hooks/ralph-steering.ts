export { deliverSteering } from '../src/drive/hook/deliver-steering.ts';
