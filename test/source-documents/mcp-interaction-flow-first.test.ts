/** "MCP (Model Context Protocol) Interaction Flow", first edition, partly in Chinese. */
import { protocolSections } from "./protocol-sections.ts";
import { protocolSite } from "./protocol-site.ts";

protocolSections("mcp-interaction-flow-first", protocolSite());
