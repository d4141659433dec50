/**
 * Voice: a board goes on talking to the voice server it always had, while its tools are everybody's. The relay stands
 * in the middle of the conversation, as the board to the server and as the server to the board, and passes on what
 * each says. It knows conversations only: which tools there are and who may call them is handed in.
 */
export { type AccountShelf, VoiceAccounts } from "./accounts.ts";
export type { Conversation } from "./conversation.ts";
export { VoiceRelay, type VoiceServer } from "./relay.ts";
export { UdpAudio } from "./udp-audio.ts";
export { type OtaIdentity, type UpstreamActivation, UpstreamOta } from "./upstream-ota.ts";
export type { BoardTools } from "./upstream-tools.ts";
export type { BoardHello, VoiceBoard } from "./voice-board.ts";
