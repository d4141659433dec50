/** "Quy trình tương tác MCP (Model Context Protocol)", the Vietnamese translation of the first edition. */
import { protocolSections } from "./protocol-sections.ts";
import { protocolSite } from "./protocol-site.ts";

protocolSections("quy-trinh-tuong-tac-mcp", protocolSite());
