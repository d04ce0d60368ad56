-- Reads 51 lines of a file over HTTP, again and again; `CALL=ping` sends that instead:
--   FILE=/path/in/a/root wrk -t1 -c16 -d5s -s benches/http/read.lua http://127.0.0.1:8000/mcp
local call = '"ping"'
if os.getenv("CALL") ~= "ping" then
    local arguments = string.format('{"file_path":"%s","line_start":700,"line_end":750}', os.getenv("FILE"))
    call = '"tools/call","params":{"name":"get_text_file_contents","arguments":' .. arguments .. '}'
end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.headers["MCP-Protocol-Version"] = "2025-06-18"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":' .. call .. '}'
