import {readState} from '../src/state/read-state.ts'; console.log(readState('x'))
