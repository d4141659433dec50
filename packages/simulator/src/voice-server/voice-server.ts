/**
 * A voice server that is not there: it greets a board as a self-hosted one does, asks for its tools, "understands" any
 * speech as the same sentence and answers with a chime. What it says and when is scripted, so that two conversations
 * can be compared byte by byte, and it can misbehave in the ways real ones do. It hears and understands nothing.
 */
export { VoiceServer, type VoiceServerOptions } from "./server.ts";
export { serverFaults } from "./server-faults.ts";
export type { Visitor, VoiceEvent } from "./visitor.ts";
