/**
 * A simulated voice server. It sends hello like a self-hosted one, lists the board's tools, recognizes any speech as the
 * same sentence and answers with a chime. Everything is scripted, so that two conversations can be compared byte by
 * byte. It can also fail like real servers. It performs no speech recognition.
 */

export type { BoardConnection, VoiceEvent } from "./board-connection.ts";
export { VoiceServer, type VoiceServerOptions } from "./server.ts";
export { serverFaults } from "./server-faults.ts";
