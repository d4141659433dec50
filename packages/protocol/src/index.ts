/**
 * The protocol between devices, agents, apps and the gateway: messages, decoding, limits and errors. Pure: no sockets,
 * no clock, no logger and no Node APIs.
 */
export { agentLimits } from "./agent-limits.ts";
export { ApprovalList, ApprovalQuery, ApprovalView } from "./api/approval.ts";
export { AuditList, AuditQuery, isAuditOf } from "./api/audit.ts";
export {
  type CallAsker,
  CallCheck,
  CallHistory,
  CallOrigin,
  type CallPhase,
  CallQuery,
  CallReply,
  CallRequest,
  CallTrace,
  FleetCallRequest,
  FleetReply,
  FleetResult,
  FleetTarget,
  FunctionCallRequest,
  FunctionReply,
  Job,
  QueuedCalls,
  RpcReplyBody,
  RpcRequestBody,
  RunningCalls,
} from "./api/call.ts";
export {
  type AuditAction,
  auditActions,
  type DeviceOrder,
  type DeviceSortKey,
  deviceSortKeys,
  scopes,
} from "./api/choices.ts";
export { automaticPrefix, automaticRequest, consoleHeader, consolePaths } from "./api/console.ts";
export {
  Device,
  DeviceChange,
  DeviceDetail,
  DeviceList,
  DeviceQuery,
  NamedTool,
  NamedTools,
  Tool,
  ToolAcceptance,
  ToolChanges,
  ToolList,
  ToolsQuery,
} from "./api/device.ts";
export { EndpointList, type EndpointView } from "./api/endpoint.ts";
export { EventQuery, type EventType, eventTypes, GatewayEvent } from "./api/event.ts";
export {
  boardPattern,
  FirmwareChange,
  FirmwareDetail,
  FirmwareImageView,
  FirmwareList,
  FirmwareUpload,
} from "./api/firmware.ts";
export { HomeAssistantView } from "./api/home-assistant.ts";
export { HttpDeviceRequest } from "./api/http-device.ts";
export {
  DemoDevice,
  FrameList,
  FrameQuery,
  OverviewQuery,
  type OverviewRange,
  OverviewView,
} from "./api/insight.ts";
export { NodeBalanceList, NodeList } from "./api/node.ts";
export { Problem } from "./api/problem.ts";
export {
  ApproveRequest,
  Decided,
  ImportedRow,
  ImportList,
  ImportQuery,
  ImportReply,
  ImportRequest,
  ImportRow,
  PendingDevice,
  PendingList,
  Provisioned,
  ProvisionRequest,
} from "./api/provisioning.ts";
export { decodeQueueOptions, minQueuedCallMs, QueuedReply } from "./api/queue.ts";
export {
  type OtaProblem,
  type SessionEnding,
  SessionView,
  SignInCode,
  SignInRequest,
} from "./api/session.ts";
export { SettingList, type SettingView } from "./api/settings.ts";
export { NewToken, TokenList, TokenRequest, TokenView } from "./api/token.ts";
export { VoiceSession, VoiceSessionList } from "./api/voice.ts";
export {
  DeliveryList,
  DeliveryQuery,
  NewWebhook,
  ReplayRequest,
  ReplayResult,
  WebhookChange,
  type WebhookDelivery,
  WebhookList,
  WebhookRequest,
  WebhookTestResult,
  WebhookView,
} from "./api/webhook.ts";
export {
  ActionMap,
  type Adjust,
  type Composition,
  defaultActions,
  type Mute,
  type Unmute,
} from "./control/action-map.ts";
export {
  Actions,
  checkActions,
  type KnownAction,
  readArguments,
  valueAt,
} from "./control/actions.ts";
export {
  ControlRequest,
  ControlResponse,
  decodeControl,
  isRequestId,
  messageFields,
} from "./control/message.ts";
export {
  type AudioFrame,
  type AudioFraming,
  audioFramingOf,
  decodeAudio,
  encodeAudio,
} from "./device/audio.ts";
export { boardTlsPort, readBoardEndpoint, readBoardUrl } from "./device/board-url.ts";
export {
  type DeviceMessage,
  decodeDeviceFrame,
  decodeServerFrame,
  encodeMcp,
  encodeServerMessage,
  type ServerMessage,
} from "./device/codec.ts";
export { type DeviceHello, type ServerHello, speaksMcp } from "./device/hello.ts";
export { clientIdMark, isClientId, isMacAddress, macMistake, normaliseDeviceId } from "./device/identity.ts";
export { makeMqttClientId, readMqttClientId } from "./device/mqtt-identity.ts";
export { isMonoOpus, opusDurationMs } from "./device/opus.ts";
export {
  readUdpHeader,
  type UdpHeader,
  udpHeaderBytes,
  udpPacketBytes,
  writeUdpHeader,
} from "./device/udp-packet.ts";
export { endpointLimits } from "./endpoint-limits.ts";
export { type ErrorCode, errorTitles, isErrorCode } from "./errors.ts";
export { type ImageHeader, imageDigestBytes, namesBoard, readImage } from "./firmware/image.ts";
export { isFirmwareVersion, isNewerFirmware } from "./firmware/version.ts";
export { pointerPart } from "./json-schema/pointer.ts";
export type { SchemaProblem } from "./json-schema/problems.ts";
export { inlineReferences, withoutExpressions } from "./json-schema/published.ts";
export { resolveReference, schemasIn } from "./json-schema/structure.ts";
export { SchemaValidator } from "./json-schema/validator.ts";
export { type DeviceRpc, encodeRequest, largestRequestId, nextRequestId } from "./jsonrpc/device-rpc.ts";
export { type Bound, firmwareLimits, limits } from "./limits.ts";
export { decodeServerLine, encodeCall, encodeQuit } from "./lines/codec.ts";
export { didYouMean, editDistance, misspeltArguments, nearNames } from "./near-names.ts";
export { type Decoded, isObject, type JsonObject, parseJson } from "./outcome.ts";
export { inWords, originPattern } from "./pattern-descriptions.ts";
export {
  isAddressFormat,
  isAddressName,
  looksLikeAddress,
  mayBeAddressName,
} from "./tools/address-name.ts";
export { agentSchema } from "./tools/agent-schema.ts";
export { type ToolAnnotations, toolAnnotations } from "./tools/annotations.ts";
export { type ArgumentProblem, firmwareHazards, programHazards } from "./tools/arguments.ts";
export { cleanAnswer, cleanLine, cleanText, cleanValue } from "./tools/clean-text.ts";
export type { Audience, ObjectSchema, ToolDefinition, ToolSetAside } from "./tools/definition.ts";
export {
  aliasOfExposedName,
  aliasPattern,
  bareNameOfExposedName,
  bareToolName,
  defaultAlias,
  exposedName,
  fitsAsExposedName,
  isAlias,
  shortenedName,
} from "./tools/names.ts";
export { leavesInsteadOfAnswering, upgradeTool } from "./tools/no-reply-tools.ts";
export {
  type InputRequired,
  normaliseResult,
  type ToolResult,
  textResult,
} from "./tools/result.ts";
export { callerSchema, hasUploadUrl, requiresUploadUrl } from "./tools/snapshot-tool.ts";
export { toolTitle } from "./tools/title.ts";
export { isForUsers, repairTool } from "./tools/tool-repair.ts";
export { visionLimits } from "./vision-limits.ts";
export { voiceLimits } from "./voice-limits.ts";
export { webhookLimits } from "./webhook-limits.ts";
