/**
 * A voice server that is not there: it greets a board as a self-hosted one does, asks for its tools, "understands" any
 * speech as the same sentence and answers with a chime. What it says and when is scripted, so that two conversations
 * can be compared byte by byte, and it can misbehave in the ways real ones do. It hears and understands nothing.
 */

export type { FrontDesk, FrontDeskOptions } from "./front-desk.ts";
export type { McpReplyMessage, VoiceMcpClient } from "./mcp-client.ts";
export { type VoiceScript, VoiceServer, type VoiceServerOptions } from "./server.ts";
export { type ServerFaultName, serverFaults } from "./server-faults.ts";
export type { Heard, Visitor, VoiceEvent } from "./visitor.ts";
