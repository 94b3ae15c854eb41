-- abs-tudelft/vhdre: the entity that vhdre generates for the name "core" and the expression "a"
--
-- A validator has an output for each byte, the core one for each text. So a shift register delays
-- the bytes by the core's latency. The error flag counts only with the last byte of a text.
-- Options: --top vhdre --component validator --lanes 1 --without ready,kind,offset

library ieee;
use ieee.std_logic_1164.all;

entity vhdre is
  port (
    clk, rst : in std_logic;
    s_axis_tdata : in std_logic_vector(7 downto 0);
    s_axis_tkeep : in std_logic_vector(0 downto 0);
    s_axis_tlast, s_axis_tvalid : in std_logic;
    m_axis_tdata : out std_logic_vector(7 downto 0);
    m_axis_tkeep : out std_logic_vector(0 downto 0);
    m_axis_tlast, m_axis_tvalid : out std_logic;
    m_axis_tuser : out std_logic_vector(35 downto 0)
  );
end entity;

architecture rtl of vhdre is
  component core is
    port (
      clk, reset, clken, aresetn, out_ready, in_valid, in_last : in std_logic;
      in_mask, in_xlast : in std_logic_vector(0 downto 0);
      in_data : in std_logic_vector(7 downto 0);
      out_valid, out_error : out std_logic
    );
  end component;

  constant LATENCY : positive := 5;
  type beats is array (natural range <>) of std_logic_vector(10 downto 0);
  signal delayed : beats(1 to LATENCY);
  signal out_valid, out_error : std_logic;
begin
  the_core : core port map (
    clk => clk, reset => rst, clken => '1', aresetn => '1', out_ready => '1',
    in_valid => s_axis_tvalid, in_mask => s_axis_tkeep, in_data => s_axis_tdata,
    in_last => s_axis_tlast, in_xlast => "0", out_valid => out_valid, out_error => out_error
  );

  process (clk) begin
    if rising_edge(clk) then
      delayed(2 to LATENCY) <= delayed(1 to LATENCY - 1);
      delayed(1) <= s_axis_tvalid & s_axis_tlast & s_axis_tkeep & s_axis_tdata;
      if rst then
        delayed <= (others => (others => '0'));
      end if;
    end if;
  end process;

  m_axis_tvalid <= delayed(LATENCY)(10);
  m_axis_tlast <= delayed(LATENCY)(9);
  m_axis_tkeep <= delayed(LATENCY)(8 downto 8);
  m_axis_tdata <= delayed(LATENCY)(7 downto 0);
  m_axis_tuser <= (0 => out_valid and out_error, others => '0');
end architecture;
