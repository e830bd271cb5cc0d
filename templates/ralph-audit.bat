@echo off
rem Starts a loop and Claude Code for it. All options: .claude\ralph\ralph-audit.bat --help
setlocal
for %%I in ("%~dp0..\..") do set "PROJECT=%%~fI"
set "MAIN=%PROJECT%\.claude\skills\ralph-loop\scripts\main.cjs"
if not defined RALPH_NODE (
  where node >nul 2>nul
  if errorlevel 1 (
    echo ralph-loop: node was not found. Install Node.js 20.12 or newer, or set RALPH_NODE to its path. 1>&2
    exit /b 1
  )
  set "RALPH_NODE=node"
)
if not exist "%MAIN%" (
  echo ralph-loop: %MAIN% is missing. Install it again: ralph-loop init. 1>&2
  exit /b 1
)
set "RALPH_ACTIVE=1"
"%RALPH_NODE%" "%MAIN%" start --launch --project "%PROJECT%" %*
exit /b %ERRORLEVEL%
