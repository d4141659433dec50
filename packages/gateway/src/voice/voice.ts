/**
 * The relay between a board and its voice server, so that a board keeps its voice assistant while clients of the gateway
 * use its tools. To the server the relay is the board, to the board it is the server. A voice server calls tools as a
 * principal that sees one board.
 */
export { clusterVoiceSessions } from "./cluster-voice-sessions.ts";
export { type OpenedVoice, openVoice, voiceServers } from "./open-voice.ts";
